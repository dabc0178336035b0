-- MySQL's example for the memcached door: the table `test.demo_test` with an item, and the container `aaa` that maps it.
-- For trying the door, not for production: any client may read, change and flush that table, and `aaa` sorts before
-- most names, so it serves clients that name no container unless one is called `default`.
--
--   mariadb < innodb_memcache.sql
--   mariadb < innodb_memcache_example.sql
--
-- To remove it: CALL postern.unmap_table('aaa'); DROP TABLE test.demo_test;

CREATE DATABASE IF NOT EXISTS test;
CREATE TABLE IF NOT EXISTS test.demo_test (
  c1 VARCHAR(32) NOT NULL PRIMARY KEY,
  c2 VARCHAR(1024),
  c3 INT,
  c4 BIGINT UNSIGNED,
  c5 INT
) ENGINE = InnoDB;
INSERT IGNORE INTO test.demo_test VALUES ('AA', 'HELLO, HELLO', 8, 0, 0);
INSERT IGNORE INTO innodb_memcache.containers
  VALUES ('aaa', 'test', 'demo_test', 'c1', 'c2', 'c3', 'c4', 'c5', 'PRIMARY');
