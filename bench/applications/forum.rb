# A forum over ActiveRecord's models, for bench/pages: forum.rb PORT DATABASE PREPARED.
#
# Reads commands from standard input: `fill`, or the name of a page, which is asked for as a controller would ask; says
# `done` after each. Its connection stays open, as that of a pool.
require 'active_record'

port, database, prepared = ARGV
ActiveRecord::Base.establish_connection(adapter: 'mysql2', host: '127.0.0.1', port: port.to_i, username: 'root',
                                        database: database, encoding: 'utf8mb4',
                                        prepared_statements: prepared == 'true')
ActiveRecord::Schema.verbose = false

class Member < ActiveRecord::Base
  has_many :posts
end

class Board < ActiveRecord::Base
  has_many :topics
end

class Topic < ActiveRecord::Base
  belongs_to :board, counter_cache: true
  belongs_to :member
  has_many :posts
end

class Post < ActiveRecord::Base
  belongs_to :topic, counter_cache: true, touch: true
  belongs_to :member
  has_and_belongs_to_many :tags
end

class Tag < ActiveRecord::Base
  has_and_belongs_to_many :posts
end

def tables
  ActiveRecord::Schema.define do
    create_table(:members) { |t| t.string :name, index: { unique: true }; t.string :token, index: true; t.integer :posts_made, default: 0 }
    create_table(:boards) { |t| t.string :title; t.integer :place; t.integer :topics_count, default: 0 }
    create_table(:topics) do |t|
      t.references :board
      t.references :member
      t.string :title
      t.integer :posts_count, default: 0
      t.integer :views, default: 0
      t.timestamps
    end
    create_table(:posts) { |t| t.references :topic; t.references :member; t.text :body; t.timestamps }
    create_table(:tags) { |t| t.string :name, index: { unique: true } }
    create_table(:posts_tags, id: false) { |t| t.references :post; t.references :tag }
  end
end

def fill
  tables
  members = (1..40).map { |n| Member.create!(name: "member #{n}", token: "token#{n}") }
  boards = (1..6).map { |n| Board.create!(title: "Board #{n}", place: n) }
  tags = (1..8).map { |n| Tag.create!(name: "tag #{n}") }
  60.times do |n|
    topic = Topic.create!(board: boards[n % 6], member: members[n % 40], title: "Topic #{n}")
    10.times { |m| Post.create!(topic: topic, member: members[(n + m) % 40], body: "Body #{n} #{m}", tags: [tags[m % 8]]) }
  end
end

def visitor
  Member.find_by(token: 'token7')
end

def front
  visitor
  Board.order(:place).to_a
  Topic.includes(:member).order(updated_at: :desc).limit(10).map { |topic| topic.member.name }
  [Member.count, Post.count]
end

def board
  visitor
  board = Board.find(3)
  board.topics.includes(:member, :posts).order(updated_at: :desc).limit(20).map { |topic| topic.posts.size }
  board.topics.count
end

def topic
  visitor
  topic = Topic.find(17)
  Topic.where(id: topic.id).update_all('views = views + 1')
  topic.posts.includes(:member, :tags).order(:id).limit(20).map { |post| [post.member.name, post.tags.map(&:name)] }
  Topic.joins(:posts).where(posts: { member_id: topic.member_id }).distinct.limit(5).to_a
end

def answer
  member = visitor
  topic = Topic.find(17)
  ActiveRecord::Base.transaction do
    Post.create!(topic: topic, member: member, body: 'An answer', tags: [Tag.find_by(name: 'tag 3')])
    member.increment!(:posts_made)
  end
end

def edit
  visitor
  post = Post.find(55)
  post.update!(body: "Changed #{post.updated_at.to_f}")
  post.tags.to_a
end

def member
  visitor
  member = Member.find_by!(name: 'member 9')
  member.posts.joins(:topic).order(id: :desc).limit(10).pluck('topics.title', :body)
  Tag.joins(:posts).where(posts: { member_id: member.id }).group(:name).order(Arel.sql('COUNT(*) DESC')).limit(3).count
end

$stdin.each_line do |asked|
  send(asked.strip)
  puts 'done'
  $stdout.flush
end
