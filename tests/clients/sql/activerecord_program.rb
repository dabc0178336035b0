# A program over ActiveRecord's models that prints the answers: activerecord_program.rb PORT PREPARED.
require 'active_record'

port, prepared = ARGV
ActiveRecord::Base.establish_connection(adapter: 'mysql2', host: '127.0.0.1', port: port.to_i, username: 'root',
                                        database: 'orm', encoding: 'utf8mb4', prepared_statements: prepared == 'true')
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:owners, force: true) { |t| t.string :name, null: false, index: { unique: true } }
  create_table(:pets, force: true) do |t|
    t.references :owner, null: false
    t.string :name
    t.decimal :weight, precision: 8, scale: 2
    t.datetime :born, precision: 6
    t.boolean :tame, default: false
    t.integer :lock_version, default: 0
  end
end

class Owner < ActiveRecord::Base
  has_many :pets, dependent: :destroy
  validates :name, presence: true
end

class Pet < ActiveRecord::Base
  belongs_to :owner
end

def read
  1.upto(9) do |number| # each form is the server's twice, then a worker's
    puts Owner.find_by(id: number).inspect, Pet.where(owner_id: number).order(:id).map(&:attributes).inspect
    begin
      puts Pet.find(number).attributes.inspect
    rescue ActiveRecord::RecordNotFound => e
      puts e.message
    end
    puts Owner.find_by(name: "имя #{number % 4}").inspect
  end
  puts Owner.includes(:pets).order(:id).map { |owner| [owner.name, owner.pets.size] }.inspect
  puts Pet.joins(:owner).where(owners: { name: 'имя 2' }).pluck(:name, :weight).inspect
  puts [Pet.count, Pet.sum(:weight), Pet.maximum(:born), Pet.exists?(tame: true)].inspect
  puts Pet.group(:tame).count.inspect, Pet.where(id: [1, 3, 99]).ids.sort.inspect
end

1.upto(4) do |number|
  owner = Owner.create!(name: "имя #{number}")
  number.times { |n| owner.pets.create!(name: "pet #{n}", weight: n / 4r, born: Time.utc(2024, number, 29, 1, 2, 3.5), tame: n.odd?) }
end
read
Pet.where(tame: true).update_all('weight = weight + 1')
begin
  Owner.create!(name: 'имя 1')
rescue ActiveRecord::RecordNotUnique => e
  puts e.message
end
Owner.transaction do
  Pet.lock.find(2).update!(name: 'locked')
  Owner.transaction(requires_new: true) do
    Owner.first.update!(name: 'not to stay')
    raise ActiveRecord::Rollback
  end
end
first, second = Pet.find(3), Pet.find(3)
first.update!(name: 'first')
begin
  second.update!(name: 'second')
rescue ActiveRecord::StaleObjectError => e
  puts e.message
end
Owner.insert_all([{ name: 'имя 8' }, { name: 'имя 8' }, { name: 'имя 9' }])
Owner.find_by(name: 'имя 3').destroy
read
puts ActiveRecord::Base.connection.tables.sort.inspect, ActiveRecord::Base.connection.columns(:pets).map(&:sql_type).inspect
