<?php
// A help desk over Laravel's models, for bench/pages: desk.php PORT DATABASE. Debian's packages have its database layer.
//
// Reads commands from standard input: `fill`, or the name of a page, which is asked for as a controller would ask; says
// `done` after each. PDO prepares each statement at the server, executes and closes it.
require '/usr/share/php/Illuminate/Database/autoload.php';

use Illuminate\Database\Capsule\Manager as DB;
use Illuminate\Database\Eloquent\Model as Eloquent;
use Illuminate\Database\Eloquent\SoftDeletes;
use Illuminate\Events\Dispatcher;

const NOW = 1700000000;

$db = new DB();
$db->addConnection(['driver' => 'mysql', 'host' => '127.0.0.1', 'port' => $argv[1], 'database' => $argv[2],
    'username' => 'root', 'password' => '', 'charset' => 'utf8mb4', 'collation' => 'utf8mb4_unicode_ci', 'strict' => true]);
$db->setEventDispatcher(new Dispatcher());
$db->setAsGlobal();
$db->bootEloquent();

class Model extends Eloquent { protected $guarded = []; }
class Team extends Model {
    function agents() { return $this->hasMany(Agent::class); }
    function tickets() { return $this->hasManyThrough(Ticket::class, Agent::class); }
}
class Agent extends Model {
    function team() { return $this->belongsTo(Team::class); }
    function tickets() { return $this->hasMany(Ticket::class); }
}
class Ticket extends Model {
    use SoftDeletes;
    protected $casts = ['meta' => 'array', 'due' => 'datetime'];
    function agent() { return $this->belongsTo(Agent::class); }
    function notes() { return $this->morphMany(Note::class, 'about'); }
    function labels() { return $this->belongsToMany(Label::class)->withPivot('weight'); }
    function scopeOpen($query) { return $query->whereIn('status', ['new', 'open']); }
}
class Note extends Model { function about() { return $this->morphTo(); } }
class Label extends Model { function tickets() { return $this->belongsToMany(Ticket::class); } }

function fill() {
    $schema = DB::schema();
    $schema->create('teams', function ($t) { $t->id(); $t->string('name')->unique(); $t->timestamps(); });
    $schema->create('agents', function ($t) {
        $t->id(); $t->foreignId('team_id')->index(); $t->string('email')->unique(); $t->boolean('active')->default(true);
        $t->timestamps();
    });
    $schema->create('tickets', function ($t) {
        $t->id(); $t->uuid('uuid')->unique(); $t->foreignId('agent_id'); $t->string('subject'); $t->json('meta');
        $t->enum('status', ['new', 'open', 'held', 'done'])->index(); $t->tinyInteger('priority'); $t->dateTime('due');
        $t->integer('views')->default(0); $t->timestamps(); $t->softDeletes(); $t->index(['agent_id', 'status']);
    });
    $schema->create('notes', function ($t) { $t->id(); $t->morphs('about'); $t->text('body'); $t->timestamps(); });
    $schema->create('labels', function ($t) { $t->id(); $t->string('name')->unique(); $t->timestamps(); });
    $schema->create('label_ticket', function ($t) {
        $t->foreignId('label_id')->index(); $t->foreignId('ticket_id'); $t->integer('weight');
        $t->primary(['ticket_id', 'label_id']);
    });
    $schema->create('sessions', function ($t) {
        $t->string('id')->primary(); $t->foreignId('user_id')->index(); $t->text('payload'); $t->integer('last_activity');
    });
    $schema->create('jobs', function ($t) {
        $t->bigIncrements('id'); $t->string('queue')->index(); $t->longText('payload'); $t->unsignedTinyInteger('attempts');
        $t->unsignedInteger('reserved_at')->nullable(); $t->unsignedInteger('available_at');
    });
    foreach (range(1, 4) as $n) Team::create(['name' => "Team $n"]);
    foreach (range(1, 24) as $n) Agent::create(['team_id' => $n % 4 + 1, 'email' => "agent$n@example.com"]);
    foreach (range(1, 10) as $n) Label::create(['name' => "label $n"]);
    foreach (range(1, 240) as $n) {
        $ticket = Ticket::create(['uuid' => sprintf('%08d-0000-4000-8000-000000000000', $n), 'agent_id' => $n % 24 + 1,
            'subject' => "Printer $n is on fire", 'status' => ['new', 'open', 'held', 'done'][$n % 4], 'priority' => $n % 5,
            'meta' => ['os' => "os$n"], 'due' => '2027-01-01 10:00:00']);
        $ticket->labels()->attach([$n % 10 + 1 => ['weight' => $n % 3], ($n * 7 + 3) % 10 + 1 => ['weight' => 2]]);
        foreach (range(1, 4) as $m) $ticket->notes()->create(['body' => "Note $m of $n"]);
        if ($n % 9 == 0) $ticket->delete();
    }
    DB::table('sessions')->insert(['id' => 'visit', 'user_id' => 7, 'payload' => 'a', 'last_activity' => 1]);
    foreach (range(1, 30) as $n) DB::table('jobs')->insert(job($n));
}

function job($n) {
    return ['queue' => 'default', 'attempts' => 0, 'available_at' => NOW - 9, 'payload' => json_encode(['job' => "Job$n"])];
}

function visitor() {
    $session = DB::table('sessions')->find('visit');
    $agent = Agent::query()->whereKey($session->user_id)->where('active', true)->first();
    DB::table('sessions')->where('id', 'visit')->update(['payload' => 'b', 'last_activity' => NOW + random_int(0, 9999)]);
    return $agent;
}

function front() {
    visitor();
    Team::withCount(['agents', 'tickets'])->orderBy('name')->get();
    Ticket::selectRaw('status, count(*) as n')->groupBy('status')->pluck('n', 'status');
    Ticket::open()->with(['agent.team', 'labels'])->latest()->limit(10)->get();
}

function tickets() {
    visitor()->tickets()->open()->whereHas('labels', fn($labels) => $labels->where('name', 'label 3'))->orderBy('due')->get();
    $open = Ticket::with('agent', 'labels')->withCount('notes')->where('status', 'open')->orderByDesc('priority');
    $open->toBase()->getCountForPagination();
    $open->orderBy('id')->forPage(2, 15)->get();
}

function ticket() {
    visitor();
    $ticket = Ticket::with(['agent.team', 'notes' => fn($notes) => $notes->oldest(), 'labels'])->findOrFail(17);
    $ticket->increment('views');
    Ticket::where('uuid', '00000021-0000-4000-8000-000000000000')->firstOrFail();
}

function search() {
    $noted = fn($notes) => $notes->where('body', 'like', '%of 33%');
    Ticket::where('subject', 'like', '%Printer 1%')->orWhereHas('notes', $noted)->orderByDesc('updated_at')->limit(20)->get();
    Ticket::where('meta->os', 'os7')->count();
}

function answer() {
    $agent = visitor();
    DB::transaction(function () use ($agent) {
        $ticket = Ticket::lockForUpdate()->find(22);
        $ticket->notes()->create(['body' => 'An answer']);
        $ticket->update(['status' => $ticket->status == 'open' ? 'held' : 'open', 'meta' => ['by' => $agent->id]]);
        $ticket->labels()->sync([1 => ['weight' => 3], 5 => ['weight' => 1], 7 => ['weight' => 1]]);
    });
}

function work() {  // as Laravel's queue does
    $job = DB::transaction(function () {
        $job = DB::table('jobs')->lock('FOR UPDATE SKIP LOCKED')->where('queue', 'default')
            ->where(fn($due) => $due->where(fn($new) => $new->whereNull('reserved_at')->where('available_at', '<=', NOW))
                ->orWhere('reserved_at', '<=', NOW - 90))->orderBy('id')->first();
        DB::table('jobs')->where('id', $job->id)->update(['reserved_at' => NOW, 'attempts' => $job->attempts + 1]);
        return $job;
    });
    DB::table('jobs')->where('id', $job->id)->delete();
    DB::table('jobs')->insertGetId(job(99));
}

function report() {
    Ticket::join('agents', 'agents.id', '=', 'tickets.agent_id')->join('teams', 'teams.id', '=', 'agents.team_id')
        ->selectRaw('teams.name, status, count(*) as n')->groupBy('teams.name', 'status')->having('n', '>', 2)->get();
    Label::whereHas('tickets', null, '>=', 10)->orderBy('name')->get();
}

while (($asked = fgets(STDIN)) !== false) {
    trim($asked)();
    echo "done\n";
}
