-- The tables of the memcached door: the database `innodb_memcache` in MySQL's form, and the database `postern` with two
-- procedures that fill in a mapping. It maps no table, so the door stays closed until you map one. MySQL's example is
-- in innodb_memcache_example.sql. An administrator may run this script any number of times: it replaces the procedures
-- and changes no existing table. Its DDL is replicated.
--
--   mariadb < innodb_memcache.sql

CREATE DATABASE IF NOT EXISTS innodb_memcache CHARACTER SET utf8mb4;

-- A row is a container: a table whose rows are items. The door looks for changes once a second.
CREATE TABLE IF NOT EXISTS innodb_memcache.containers (
  name VARCHAR(50) NOT NULL PRIMARY KEY COMMENT 'get @@name switches to it; default, or else the first, needs no switching',
  db_schema VARCHAR(250) NOT NULL,
  db_table VARCHAR(250) NOT NULL,
  key_columns VARCHAR(250) NOT NULL COMMENT 'a column, or several separated by commas',
  value_columns VARCHAR(250) COMMENT 'a column, or several separated by commas',
  flags VARCHAR(250) NOT NULL DEFAULT '0' COMMENT 'a column, or 0 for none; so are the next two',
  cas_column VARCHAR(250),
  expire_time_column VARCHAR(250),
  unique_idx_name_on_key VARCHAR(250) NOT NULL COMMENT 'PRIMARY, or a unique index of the key columns in their order'
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The row cache_policy sets where commands work: in the table (innodb_only, caching), in memory (cache_only) or nowhere
-- (disabled).
CREATE TABLE IF NOT EXISTS innodb_memcache.cache_policies (
  policy_name VARCHAR(40) NOT NULL PRIMARY KEY,
  get_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  set_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  delete_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  flush_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- separator: between the columns of a key or a value. table_map_delimiter: between @@name and the key.
CREATE TABLE IF NOT EXISTS innodb_memcache.config_options (
  name VARCHAR(50) NOT NULL PRIMARY KEY,
  value VARCHAR(50)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT IGNORE INTO innodb_memcache.cache_policies
  VALUES ('cache_policy', 'innodb_only', 'innodb_only', 'innodb_only', 'innodb_only');
INSERT IGNORE INTO innodb_memcache.config_options VALUES ('separator', '|'), ('table_map_delimiter', '.');

CREATE DATABASE IF NOT EXISTS postern CHARACTER SET utf8mb4;

DELIMITER //

-- Maps a table: CALL postern.map_table('users', 'shop', 'user', 'id', 'name,email');
-- Key columns are given in any order, and have to be those of the primary key or of a unique index; columns for flags,
-- CAS and expiry are taken where the table has columns `flags`, `cas` and `expire_time` that are neither key nor value.
CREATE OR REPLACE PROCEDURE postern.map_table(
  IN container VARCHAR(50) CHARACTER SET utf8mb4,
  IN in_schema VARCHAR(64) CHARACTER SET utf8mb4,
  IN in_table VARCHAR(64) CHARACTER SET utf8mb4,
  IN keys_wanted VARCHAR(250) CHARACTER SET utf8mb4,
  IN values_wanted VARCHAR(250) CHARACTER SET utf8mb4)
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
  COMMENT 'Makes or replaces a container of the memcached door'
BEGIN
  DECLARE rest VARCHAR(260) CHARACTER SET utf8mb4;
  DECLARE piece VARCHAR(250) CHARACTER SET utf8mb4;
  DECLARE found VARCHAR(64) CHARACTER SET utf8mb4;
  DECLARE key_list VARCHAR(250) CHARACTER SET utf8mb4 DEFAULT '';
  DECLARE value_list VARCHAR(250) CHARACTER SET utf8mb4 DEFAULT '';
  DECLARE sorted_keys VARCHAR(2000) CHARACTER SET utf8mb4;
  DECLARE index_found VARCHAR(64) CHARACTER SET utf8mb4;
  DECLARE text TEXT CHARACTER SET utf8mb4;
  DECLARE of_values BOOL DEFAULT FALSE;

  IF container IS NULL OR container = '' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'The container needs a name';
  END IF;
  IF NOT EXISTS (SELECT * FROM information_schema.tables
                 WHERE table_schema = in_schema AND table_name = in_table AND table_type = 'BASE TABLE') THEN
    SET text = CONCAT('There is no table ', IFNULL(in_schema, 'NULL'), '.', IFNULL(in_table, 'NULL'));
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
  END IF;

  -- Every name has to be a column; the table's spelling is stored.
  SET rest = CONCAT(IFNULL(keys_wanted, ''), ',');
  names: LOOP
    IF rest = '' THEN
      IF of_values THEN
        LEAVE names;
      END IF;
      SET of_values = TRUE;
      SET rest = CONCAT(IFNULL(values_wanted, ''), ',');
    END IF;
    SET piece = TRIM(SUBSTRING_INDEX(rest, ',', 1));
    SET rest = SUBSTRING(rest, LOCATE(',', rest) + 1);
    SET found = (SELECT column_name FROM information_schema.columns
                 WHERE table_schema = in_schema AND table_name = in_table AND column_name = piece);
    IF found IS NULL THEN
      SET text = CONCAT('The table ', in_schema, '.', in_table, ' has no column ''', piece, '''');
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
    END IF;
    IF found REGEXP '[,;| \t]' THEN
      SET text = CONCAT('The column ''', found, ''' cannot be mapped: its name has a separator in it');
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
    END IF;
    IF FIND_IN_SET(found, key_list) OR FIND_IN_SET(found, value_list) THEN
      SET text = CONCAT('The column ''', found, ''' is named twice');
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
    END IF;
    IF of_values THEN
      SET value_list = CONCAT_WS(',', NULLIF(value_list, ''), found);
    ELSE
      SET key_list = CONCAT_WS(',', NULLIF(key_list, ''), found);
    END IF;
  END LOOP;

  -- A unique index of exactly these columns without prefixes and NULLs; the primary key if possible.
  SELECT index_name, columns INTO index_found, sorted_keys FROM (
    SELECT index_name, GROUP_CONCAT(column_name ORDER BY seq_in_index) AS columns
    FROM information_schema.statistics
    WHERE table_schema = in_schema AND table_name = in_table AND non_unique = 0
    GROUP BY index_name
    HAVING SUM(nullable = 'YES') = 0 AND SUM(sub_part IS NOT NULL) = 0
      AND COUNT(*) = 1 + LENGTH(key_list) - LENGTH(REPLACE(key_list, ',', ''))
      AND SUM(FIND_IN_SET(column_name, key_list) > 0) = COUNT(*)
    ORDER BY index_name <> 'PRIMARY', index_name
    LIMIT 1) AS fitting;
  IF index_found IS NULL THEN
    SET text = CONCAT('The table ', in_schema, '.', in_table, ' has no primary key or unique index, without NULL, of ',
                      'just ', key_list);
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
  END IF;

  REPLACE INTO innodb_memcache.containers
  SELECT container, in_schema, in_table, sorted_keys, value_list,
         IFNULL(MAX(IF(column_name = 'flags', column_name, NULL)), '0'),
         IFNULL(MAX(IF(column_name = 'cas', column_name, NULL)), '0'),
         IFNULL(MAX(IF(column_name = 'expire_time', column_name, NULL)), '0'),
         index_found
  FROM information_schema.columns
  WHERE table_schema = in_schema AND table_name = in_table AND column_name IN ('flags', 'cas', 'expire_time')
    AND data_type IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint')
    AND NOT FIND_IN_SET(column_name, key_list) AND NOT FIND_IN_SET(column_name, value_list);
END //

CREATE OR REPLACE PROCEDURE postern.unmap_table(IN container VARCHAR(50) CHARACTER SET utf8mb4)
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
  COMMENT 'Removes a container of the memcached door; the table stays as it is'
BEGIN
  DECLARE text TEXT CHARACTER SET utf8mb4;
  DELETE FROM innodb_memcache.containers WHERE name = container;
  IF ROW_COUNT() = 0 THEN
    SET text = CONCAT('There is no container ''', IFNULL(container, 'NULL'), '''');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
  END IF;
END //

DELIMITER ;
