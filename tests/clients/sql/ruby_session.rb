# Plays a session by Ruby's driver and prints the answers: ruby ruby_session.rb PORT SESSION.
require 'mysql2'

port, session = ARGV
client = Mysql2::Client.new(host: '127.0.0.1', port: port.to_i, username: 'root', database: 'shop', encoding: 'utf8mb4',
                            local_infile: true, flags: Mysql2::Client::MULTI_STATEMENTS)

def value_of(text)
  kind, value = text.split(':', 2)
  { 'i' => -> { value.to_i }, 'd' => -> { value.to_f }, 's' => -> { value }, 'b' => -> { [value].pack('H*') },
    'n' => -> {} }[kind].call
end

def tell(client, result)
  if result
    puts "  #{result.fields} #{result.respond_to?(:field_types) ? result.field_types : ''}"
    result.each(as: :array) { |row| puts "  #{row.inspect}" }
  end
  puts "  #{client.affected_rows rescue nil} #{client.last_id} #{client.warning_count} #{client.query_info}"
end

def run(client, how, text, values)
  if how == 'p' || !values.empty?
    statement = client.prepare(text)
    begin
      tell(client, statement.execute(*values))
      puts "  #{statement.affected_rows} #{statement.last_id}"
    ensure
      statement.close
    end
  else
    tell(client, client.query(text, cast: how != 'c'))
  end
  tell(client, client.store_result) while client.next_result
end

File.foreach(session, chomp: true, encoding: 'utf-8') do |line|
  how, times, text, *values = line.split("\t", -1)
  text = text.gsub('\n', "\n")
  times.to_i.times do
    puts "> #{text[0, 200]}"
    begin
      run(client, how, text, values.map { |value| value_of(value) })
    rescue Mysql2::Error => e
      puts "  #{e.error_number} #{e.sql_state} #{e.message}"
      client.abandon_results!
    rescue ArgumentError, RangeError, EncodingError => e
      puts "  #{e.message}"
    end
  end
end
