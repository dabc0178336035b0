<?php

declare(strict_types=1);

/**
 * One connection to a HandlerSocket port. Methods and what they return are those of the PECL extension, so that programs
 * written for it run unchanged; README.md has them all.
 *
 * A request that fails returns false, and getError() has the reason. A failed connection is closed, and later requests
 * on it fail: unanswered requests may have been executed or not.
 */
class HandlerSocket
{
    public const PRIMARY = 'PRIMARY';
    public const UPDATE = 'U';
    public const DELETE = 'D';

    /** getErrorCode() of the connection's own errors. */
    public const BROKEN = -1;

    // The limit for bytes of requests with unread replies. They fit into the sockets' buffers, so that a server that
    // waits for us to read never meets us waiting for it to read.
    private const WINDOW_BYTES = 32 * 1024;
    private const RECEIVE_BYTES = 64 * 1024;
    private const INSERTIONS = ['+' => 'id', 'U' => 'count', 'I' => 'count'];

    /** @var resource|null */
    private $stream = null;
    private string $received = '';
    private int $taken = 0;  // bytes of it that were used
    /** @var array<int, int> how many columns each open index has */
    private array $columns = [];
    private float $timeout;
    private float $connectTimeout;
    private float $waits = 0;  // seconds, as the stream was told
    private int $replyBytesMax;
    private ?string $broken = null;
    private ?string $error = null;
    private int $errorCode = 0;

    /**
     * @param string $host a name, an address, or a path that begins with '/': a unix socket
     * @param array<string, mixed> $options timeout: seconds for each reply (60);
     *   connect_timeout: for connecting (10, and at most timeout); secret, or user and
     *   password: sent at once; tls: true, or SSL context options of PHP; max_reply_bytes (1 GiB)
     * @throws HandlerSocketException if no server answers, or secret, user or password are wrong
     */
    public function __construct(string $host, int|string $port = 9998, array $options = [])
    {
        $this->timeout = (float) ($options['timeout'] ?? 60);
        $this->connectTimeout = (float) ($options['connect_timeout'] ?? min(10, $this->timeout));
        $this->replyBytesMax = (int) ($options['max_reply_bytes'] ?? 2 ** 30);
        $this->connect($host, (int) $port, $options['tls'] ?? false);
        $welcome = match (true) {
            isset($options['user']) => $this->login($options['user'], $options['password'] ?? ''),
            isset($options['secret']) => $this->auth($options['secret']),
            default => true,
        };
        if (!$welcome) {
            throw new HandlerSocketException((string) $this->error, $this->errorCode);
        }
    }

    /** Sends the port's secret. */
    public function auth(string $key, string $type = '1'): bool
    {
        return $this->lone("A\t" . self::word($type) . "\t" . self::name($key));
    }

    /** Logs in with an account of the database, where handlersocket_auth = account. */
    public function login(string $user, string $password): bool
    {
        return $this->lone("A\t2\t" . self::token($user) . "\t" . self::token($password));
    }

    /**
     * @param string|list<string> $fields names of columns, or a list that is sent as it is
     * @param string|list<string> $filter names of columns that filters may look at
     */
    public function openIndex(
        int $id,
        string $db,
        string $table,
        string $index,
        string|array $fields,
        string|array $filter = []
    ): bool {
        $names = [self::name($db), self::name($table), self::name($index), self::names($fields)];
        if ($filter !== [] && $filter !== '') {
            $names[] = self::names($filter);
        }
        $opened = $this->lone("P\t" . self::number($id) . "\t" . implode("\t", $names));
        if ($opened) {
            $this->columns[$id] = self::count($names[3]);
        }
        return $opened;
    }

    /** @throws HandlerSocketException if the index cannot be opened */
    public function createIndex(
        int $id,
        string $db,
        string $table,
        string $index,
        string|array $fields,
        array $options = []
    ): HandlerSocketIndex {
        return new HandlerSocketIndex($this, $id, $db, $table, $index, $fields, $options);
    }

    /**
     * One request: a find; with $modop a change of the rows found; with the operator '+' a new row of $fields.
     *
     * @param list<mixed> $fields values of the key, or of the new row
     * @param list<mixed>|null $values for $modop
     * @param list<mixed>|null $filters [type, operator, position, value], or a list of such
     * @return list<list<?string>>|int|string|false rows; how many were changed; the id that AUTO_INCREMENT gave a new
     *   row, else 1; a number above PHP_INT_MAX as a string
     */
    public function executeSingle(
        int $id,
        string $op,
        array $fields,
        ?int $limit = 1,
        ?int $skip = 0,
        ?string $modop = null,
        ?array $values = null,
        ?array $filters = null,
        ?int $invalues_key = -1,
        ?array $invalues = null
    ): array|int|string|false {
        return $this->executeMulti([func_get_args()])[0];
    }

    /**
     * Sends all requests, each with the arguments of executeSingle(), and then reads their replies.
     *
     * @param list<list<mixed>> $requests
     * @return list<mixed> what executeSingle() would return for each
     */
    public function executeMulti(array $requests): array
    {
        $lines = $kinds = [];
        foreach ($requests as $request) {
            [$lines[], $kinds[]] = self::line(...array_values($request));
        }
        return $this->exchange($lines, $kinds);
    }

    public function executeUpdate(
        int $id,
        string $op,
        array $fields,
        array $values,
        int $limit = 1,
        int $skip = 0,
        ?array $filters = null,
        int $invalues_key = -1,
        ?array $invalues = null
    ): array|int|string|false {
        return $this->executeSingle($id, $op, $fields, $limit, $skip, 'U', $values, $filters, $invalues_key, $invalues);
    }

    public function executeDelete(
        int $id,
        string $op,
        array $fields,
        int $limit = 1,
        int $skip = 0,
        ?array $filters = null,
        int $invalues_key = -1,
        ?array $invalues = null
    ): array|int|string|false {
        return $this->executeSingle($id, $op, $fields, $limit, $skip, 'D', null, $filters, $invalues_key, $invalues);
    }

    public function executeInsert(int $id, array $values): int|string|false
    {
        return $this->executeSingle($id, '+', $values);
    }

    /** The reason of the last failure in the last call; null without one. */
    public function getError(): ?string
    {
        return $this->error;
    }

    /** The code the server gave that failure; 0: there is none, BROKEN: the connection. */
    public function getErrorCode(): int
    {
        return $this->errorCode;
    }

    public function close(): void
    {
        if ($this->stream !== null) {
            fclose($this->stream);
            $this->stream = null;
        }
    }

    private function connect(string $host, int $port, bool|array $tls): void
    {
        $is_path = str_starts_with($host, '/');
        $address = $is_path ? "unix://$host" : 'tcp://' . (str_contains($host, ':') ? "[$host]" : $host) . ":$port";
        $context = stream_context_create([
            'socket' => ['tcp_nodelay' => true],
            'ssl' => (is_array($tls) ? $tls : []) + ['peer_name' => $host],
        ]);
        $stream = @stream_socket_client($address, $code, $why, $this->connectTimeout, STREAM_CLIENT_CONNECT, $context);
        if ($stream === false) {
            throw new HandlerSocketException("connect to $address: $why", self::BROKEN);
        }
        $this->stream = $stream;
        stream_set_read_buffer($stream, 0);
        $this->waitAtMost($this->timeout);
        error_clear_last();
        if ($tls && !$is_path && !@stream_socket_enable_crypto($stream, true, STREAM_CRYPTO_METHOD_TLS_CLIENT)) {
            $this->close();
            $why = str_replace("\n", ' ', error_get_last()['message'] ?? 'refused');
            throw new HandlerSocketException("TLS: $why", self::BROKEN);
        }
    }

    private function waitAtMost(float $seconds): void
    {
        $this->waits = $seconds;
        stream_set_timeout($this->stream, (int) $seconds, (int) (fmod($seconds, 1) * 1_000_000));
    }

    // --- bytes of requests

    /** @return array{string, string|int} the line, and what its reply has to look like: 'id', 'count', or an index */
    private static function line(
        int $id,
        string $op,
        array $keys,
        ?int $limit = 1,
        ?int $skip = 0,
        ?string $modop = null,
        ?array $values = null,
        ?array $filters = null,
        ?int $in_key = -1,
        ?array $in_values = null
    ): array {
        $line = self::number($id) . "\t" . self::word($op) . "\t" . count($keys) . self::tokens($keys);
        if (isset(self::INSERTIONS[$op])) {
            return ["$line\n", self::INSERTIONS[$op]];
        }
        $options = '';
        if ($in_values !== null && $in_key >= 0) {
            $options = "\t@\t$in_key\t" . count($in_values) . self::tokens($in_values);
        }
        foreach (self::filters($filters ?? []) as [$type, $comparison, $column, $value]) {
            $words = [self::word($type), self::word($comparison), self::number((int) $column), self::token($value)];
            $options .= "\t" . implode("\t", $words);
        }
        $changes = $modop !== null && $modop !== '';
        if ($changes) {
            $options .= "\t" . self::word($modop) . self::tokens($values ?? []);
        }
        if ($options !== '' || ($limit ?? 1) !== 1 || ($skip ?? 0) !== 0) {
            $line .= "\t" . self::number($limit ?? 1) . "\t" . self::number($skip ?? 0) . $options;
        }
        return ["$line\n", $changes && !str_ends_with($modop, '?') ? 'count' : $id];
    }

    /** A filter may stand without a list around it. */
    private static function filters(array $filters): array
    {
        return $filters === [] || is_array(reset($filters)) ? $filters : [$filters];
    }

    private static function number(int $number): string
    {
        if ($number < 0) {
            throw new HandlerSocketException("$number cannot be sent as a number that counts");
        }
        return (string) $number;
    }

    private static function name(string $name): string
    {
        if (strpbrk($name, "\t\n\x01") !== false) {
            throw new HandlerSocketException('TAB, LF and 0x01 cannot be sent in a name or a secret');
        }
        return $name;
    }

    private static function names(string|array $names): string
    {
        if (is_string($names)) {
            return self::name($names);
        }
        $quoted = static fn (string $name): string =>
            strpbrk($name, ',`') === false ? $name : '`' . str_replace('`', '``', $name) . '`';
        return implode(',', array_map(static fn ($name) => $quoted(self::name((string) $name)), $names));
    }

    private static function count(string $names): int
    {
        // Bytes in backquotes are not separators.
        return $names === '' ? 0 : 1 + substr_count(preg_replace('/`[^`]*`/', '', $names), ',');
    }

    private static function word(string $word): string
    {
        if (strpbrk($word, "\t\n") !== false) {
            throw new HandlerSocketException('TAB and LF cannot be sent in an operator');
        }
        return $word;
    }

    private static function tokens(array $values): string
    {
        $tokens = '';
        foreach ($values as $value) {
            $tokens .= "\t" . self::token($value);
        }
        return $tokens;
    }

    private static function token(mixed $value): string
    {
        if ($value === null) {
            return "\0";
        }
        if (is_float($value)) {
            return self::shortest($value);
        }
        if (is_bool($value)) {
            return $value ? '1' : '0';
        }
        static $escapes = null;
        $escapes ??= array_combine(
            array_map('chr', range(0x00, 0x0f)),
            array_map(static fn (int $byte): string => "\x01" . chr($byte + 0x40), range(0x00, 0x0f))
        );
        return strtr((string) $value, $escapes);
    }

    private static function shortest(float $number): string
    {
        foreach ([15, 16] as $digits) {
            $text = sprintf("%.{$digits}g", $number);
            if ((float) $text === $number) {
                return $text;
            }
        }
        return sprintf('%.17g', $number);
    }

    // --- the wire

    /** P and A. */
    private function lone(string $line): bool
    {
        return $this->exchange(["$line\n"], ['done'])[0] !== false;
    }

    /** Sends all lines and reads all replies. */
    private function exchange(array $lines, array $kinds): array
    {
        $this->error = null;
        $this->errorCode = 0;
        if ($this->stream !== null && $this->taken < strlen($this->received)) {
            $this->break('the server sent more than it was asked for');
        }
        $results = [];
        $sent = $flying = 0;
        $count = count($lines);
        for ($at = 0; $at < $count; ++$at) {
            if ($sent < $count && $flying <= self::WINDOW_BYTES / 2) {
                $data = '';
                while ($sent < $count && ($flying === 0 || $flying + strlen($lines[$sent]) <= self::WINDOW_BYTES)) {
                    $flying += strlen($lines[$sent]);
                    $data .= $lines[$sent++];
                }
                $this->send($data);
            }
            $results[] = $this->reply($kinds[$at]);
            $flying -= strlen($lines[$at]);
        }
        return $results;
    }

    private function send(string $data): void
    {
        $deadline = hrtime(true) + $this->timeout * 1e9;
        while ($this->stream !== null && $data !== '') {
            $count = @fwrite($this->stream, $data);
            // The server has closed, perhaps with an error message, which is read next.
            if ($count === false || ($count === 0 && feof($this->stream))) {
                return;
            }
            $data = substr($data, $count);
            if ($data !== '' && hrtime(true) > $deadline) {
                $this->break('timeout');
            }
        }
    }

    private function reply(string|int $kind): array|int|string|bool
    {
        $line = $this->receiveLine();
        if ($line === null) {
            return false;
        }
        $tokens = explode("\t", $line);
        $code = array_shift($tokens);
        if (!self::isNatural($code, '4294967295')) {
            return $this->malformed($line);
        }
        if ((int) $code !== 0) {
            // The second word is the number of columns, and says nothing here.
            $text = $tokens[1] ?? '';
            [$this->errorCode, $this->error] = [(int) $code, self::unescaped($text) ?? $text];
            return false;
        }
        $columns = array_shift($tokens);
        if (!self::isNatural($columns, '4294967295') || !$this->fits($kind, (int) $columns, $tokens)) {
            return $this->malformed($line);
        }
        if (is_int($kind)) {
            return $this->rows($tokens, (int) $columns, $line);
        }
        return match (true) {
            $kind === 'done' => true,
            $tokens === [] => 1,
            default => self::integer($tokens[0], $kind),
        };
    }

    private function rows(array $tokens, int $columns, string $line): array|false
    {
        if (strpos($line, "\x01") !== false || strpos($line, "\0") !== false) {
            foreach ($tokens as &$token) {
                if ($token === "\0") {
                    $token = null;
                } elseif (($token = self::unescaped($token)) === null) {
                    return $this->malformed($line);
                }
            }
            unset($token);
        }
        return $tokens === [] ? [] : array_chunk($tokens, $columns);
    }

    /** Whether a reply without an error is one to this kind of request. */
    private function fits(string|int $kind, int $columns, array $tokens): bool
    {
        if (is_int($kind)) {
            $known = $this->columns[$kind] ?? $columns;
            return $columns === $known && ($known === 0 ? $tokens === [] : count($tokens) % $known === 0);
        }
        if ($columns !== 1) {
            return false;
        }
        if ($tokens === []) {
            return $kind !== 'count';
        }
        return $kind !== 'done' && count($tokens) === 1 && self::isNatural($tokens[0], '18446744073709551615');
    }

    private static function isNatural(?string $text, string $most): bool
    {
        if ($text === null || !ctype_digit($text) || strlen($text) > 20) {
            return false;
        }
        $digits = ltrim($text, '0');
        return strlen($digits) < strlen($most) || (strlen($digits) === strlen($most) && strcmp($digits, $most) <= 0);
    }

    /** A new row without an id of its own returns 1, because programs take 0 for a failure. */
    private static function integer(string $digits, string $kind): int|string
    {
        $number = (string) (int) $digits === $digits ? (int) $digits : $digits;
        return $kind === 'id' && $number === 0 ? 1 : $number;
    }

    /** Null if an escape is malformed. */
    private static function unescaped(string $token): ?string
    {
        if (!str_contains($token, "\x01")) {
            return $token;
        }
        if (preg_match('/\x01(?:\z|[\x00-\x3f])/', $token)) {
            return null;
        }
        return preg_replace_callback('/\x01(.)/s', static fn (array $found): string => chr((ord($found[1]) - 0x40) & 0xff), $token);
    }

    private function malformed(string $line): bool
    {
        $this->break('this is no reply: ' . substr($line, 0, 80));
        return false;
    }

    /** Closes the connection: later bytes cannot be trusted. */
    private function break(string $why): void
    {
        $this->close();
        $this->received = '';
        $this->taken = 0;
        $this->broken = $this->error = $why;
        $this->errorCode = self::BROKEN;
    }

    /** The next line without its LF; null if there is none to come. */
    private function receiveLine(): ?string
    {
        if ($this->stream === null) {
            [$this->errorCode, $this->error] = [self::BROKEN, $this->error ?? $this->broken ?? 'not connected'];
            return null;
        }
        $searched = $this->taken;
        $deadline = null;
        while (($end = strpos($this->received, "\n", $searched)) === false) {
            $searched = strlen($this->received);
            if ($searched - $this->taken > $this->replyBytesMax) {
                return $this->tooLong();
            }
            if (!$this->receive($deadline)) {
                return null;
            }
            $searched -= $this->drop();
        }
        if ($end - $this->taken > $this->replyBytesMax) {
            return $this->tooLong();
        }
        $line = substr($this->received, $this->taken, $end - $this->taken);
        $this->taken = $end + 1;
        return $line;
    }

    /** Drops the used bytes, and returns their number. */
    private function drop(): int
    {
        $count = $this->taken;
        $this->received = substr($this->received, $count);
        $this->taken = 0;
        return $count;
    }

    /** Appends arrived bytes to the received ones. False: the connection is broken. */
    private function receive(?float &$deadline): bool
    {
        if ($deadline === null) {
            $deadline = hrtime(true) + $this->timeout * 1e9;
            $left = $this->timeout;
        } else {
            $left = max(0.001, ($deadline - hrtime(true)) / 1e9);
        }
        if ($left !== $this->waits) {
            $this->waitAtMost($left);
        }
        $bytes = @fread($this->stream, self::RECEIVE_BYTES);
        if ($bytes !== false && $bytes !== '' && hrtime(true) < $deadline) {
            $this->received .= $bytes;
            return true;
        }
        $late = hrtime(true) >= $deadline || stream_get_meta_data($this->stream)['timed_out'];
        $this->break($late ? 'timeout' : 'the server closed the connection');
        return false;
    }

    private function tooLong(): ?string
    {
        $this->break("a reply longer than $this->replyBytesMax bytes");
        return null;
    }
}
