-- The tables of the Redis door: postern.redis_maps, which defines the meaning of keys, procedures that fill it in, and
-- the database `postern_redis` with the tables for keys without another mapping. An administrator may run it any
-- number of times: it replaces procedures and views and changes no existing table. Its DDL is replicated.
--
--   mariadb < redis.sql
--   CALL postern.redis_map_row('user:', 'shop', 'user', '*');                 -- HGETALL user:101
--   CALL postern.redis_map_value('email:', 'shop', 'user', 'id', 'email');    -- GET email:101
--   CALL postern.redis_map_expiry('session:', 'expires', 'ms');               -- EXPIRE session:7f3a 60
--   CALL postern.redis_unmap('user:');
--   CALL postern.redis_make_keyspace(1, '', 'postern_redis1');                -- SELECT 1
--   CALL postern.redis_touch('cart:7');                                       -- after SQL has changed its elements

CREATE DATABASE IF NOT EXISTS postern CHARACTER SET utf8mb4;

-- A row is a prefix. The longest prefix of a key decides; the door looks for changes once a second.
CREATE TABLE IF NOT EXISTS postern.redis_maps (
  prefix VARBINARY(250) NOT NULL COMMENT 'with its delimiter: user:; the empty one takes all that is left',
  db TINYINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'the number that SELECT takes, 0 to 15',
  kind ENUM('row', 'value', 'generic') NOT NULL COMMENT 'a row is a hash, a column is a string, or anything',
  db_schema VARCHAR(64) NOT NULL,
  db_table VARCHAR(64) NOT NULL COMMENT 'generic: entries; the other tables stand beside it',
  key_columns VARCHAR(250) NOT NULL COMMENT 'in the order of the index, separated by commas',
  value_columns VARCHAR(4000) NOT NULL
    COMMENT 'row: fields, separated by commas, each a column, or a column, a blank and the field; value: one column',
  key_index VARCHAR(64) NOT NULL DEFAULT 'PRIMARY' COMMENT 'unique, of just the key columns, whole, none nullable',
  key_separator VARBINARY(8) NOT NULL DEFAULT ':' COMMENT 'between the pieces of the key, if there are several columns',
  expire_column VARCHAR(64) COMMENT 'an integer column: when the key expires, since 1970; 0 or NULL is never',
  expire_unit ENUM('ms', 's') NOT NULL DEFAULT 'ms',
  version_column VARCHAR(64) COMMENT 'BIGINT UNSIGNED: counts the writes of the door; makes WATCH exact',
  options SET('read_only', 'no_flush', 'no_scan', 'no_create', 'no_delete') NOT NULL DEFAULT 'no_flush',
  PRIMARY KEY (db, prefix)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The libraries of FUNCTION LOAD. SQL may write here, too; the door looks for changes once a second.
CREATE TABLE IF NOT EXISTS postern.redis_functions (
  `library` VARBINARY(250) NOT NULL PRIMARY KEY COMMENT 'the name in the first line of the code',
  code LONGBLOB NOT NULL COMMENT 'with its first line: #!lua name=library'
) ENGINE = InnoDB;

DELIMITER //

-- Fails unless the table can be mapped at this prefix; returns its key columns and its index. The default key columns
-- are the primary key's or, without one, those of a unique index.
CREATE OR REPLACE PROCEDURE postern.redis_find_key(
  IN in_prefix VARBINARY(250),
  IN in_schema VARCHAR(64) CHARACTER SET utf8mb4,
  IN in_table VARCHAR(64) CHARACTER SET utf8mb4,
  IN keys_wanted VARCHAR(250) CHARACTER SET utf8mb4,
  OUT key_list VARCHAR(250) CHARACTER SET utf8mb4,
  OUT index_found VARCHAR(64) CHARACTER SET utf8mb4)
  READS SQL DATA
  SQL SECURITY INVOKER
  COMMENT 'Part of redis_map_row and redis_map_value'
BEGIN
  DECLARE rest VARCHAR(260) CHARACTER SET utf8mb4;
  DECLARE piece VARCHAR(250) CHARACTER SET utf8mb4;
  DECLARE found VARCHAR(64) CHARACTER SET utf8mb4;
  DECLARE wanted VARCHAR(250) CHARACTER SET utf8mb4 DEFAULT '';
  DECLARE text TEXT CHARACTER SET utf8mb4;

  IF in_prefix IS NULL THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'The prefix may be empty, but not NULL';
  END IF;
  IF EXISTS (SELECT * FROM postern.redis_maps WHERE db = 0 AND prefix = in_prefix AND kind = 'generic') THEN
    SET text = CONCAT('The prefix ''', in_prefix, ''' is that of a generic keyspace; CALL postern.redis_unmap(''',
                      in_prefix, ''') first');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
  END IF;
  IF LOWER(in_schema) IN ('mysql', 'sys', 'information_schema', 'performance_schema') THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'Tables of a system schema cannot be mapped';
  END IF;
  IF NOT EXISTS (SELECT * FROM information_schema.tables
                 WHERE table_schema = in_schema AND table_name = in_table
                   AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')) THEN
    SET text = CONCAT('There is no table ', IFNULL(in_schema, 'NULL'), '.', IFNULL(in_table, 'NULL'));
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
  END IF;

  SET rest = CONCAT(IFNULL(keys_wanted, ''), ',');
  WHILE rest <> '' AND keys_wanted IS NOT NULL DO
    SET piece = TRIM(SUBSTRING_INDEX(rest, ',', 1));
    SET rest = SUBSTRING(rest, LOCATE(',', rest) + 1);
    SET found = (SELECT column_name FROM information_schema.columns
                 WHERE table_schema = in_schema AND table_name = in_table AND column_name = piece);
    IF found IS NULL THEN
      SET text = CONCAT('The table ', in_schema, '.', in_table, ' has no column ''', piece, '''');
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
    END IF;
    IF FIND_IN_SET(found, wanted) THEN
      SET text = CONCAT('The column ''', found, ''' is named twice');
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
    END IF;
    SET wanted = CONCAT_WS(',', NULLIF(wanted, ''), found);
  END WHILE;

  -- A unique index without prefixes and NULLs; the primary key if possible.
  SET key_list = NULL, index_found = NULL;
  SELECT index_name, columns INTO index_found, key_list FROM (
    SELECT index_name, GROUP_CONCAT(column_name ORDER BY seq_in_index) AS columns
    FROM information_schema.statistics
    WHERE table_schema = in_schema AND table_name = in_table AND non_unique = 0
    GROUP BY index_name
    HAVING SUM(nullable = 'YES') = 0 AND SUM(sub_part IS NOT NULL) = 0 AND SUM(column_name REGEXP '[, ]') = 0
      AND (wanted = '' OR COUNT(*) = 1 + LENGTH(wanted) - LENGTH(REPLACE(wanted, ',', '')))
      AND (wanted = '' OR SUM(FIND_IN_SET(column_name, wanted) > 0) = COUNT(*))
    ORDER BY index_name <> 'PRIMARY', index_name
    LIMIT 1) AS fitting;
  IF index_found IS NULL THEN
    SET text = CONCAT('The table ', in_schema, '.', in_table, ' has no primary key or unique index, without NULL',
                      IF(wanted = '', '', CONCAT(', of just ', wanted)));
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
  END IF;
END //

-- Maps rows as hashes: CALL postern.redis_map_row('user:', 'shop', 'user', '*'). The key is the primary key, or a unique
-- index if there is none. Fields: '*' for every column that is no key and not generated, as the table is now; or a list,
-- 'full_name name,email', in which a column may have another name as a field.
CREATE OR REPLACE PROCEDURE postern.redis_map_row(
  IN in_prefix VARBINARY(250),
  IN in_schema VARCHAR(64) CHARACTER SET utf8mb4,
  IN in_table VARCHAR(64) CHARACTER SET utf8mb4,
  IN fields_wanted VARCHAR(4000) CHARACTER SET utf8mb4)
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
  COMMENT 'Makes or replaces a mapping of the Redis door: a row is a hash'
BEGIN
  DECLARE key_list VARCHAR(250) CHARACTER SET utf8mb4;
  DECLARE index_found VARCHAR(64) CHARACTER SET utf8mb4;
  DECLARE rest VARCHAR(4100) CHARACTER SET utf8mb4;
  DECLARE piece VARCHAR(4000) CHARACTER SET utf8mb4;
  DECLARE field VARCHAR(4000) CHARACTER SET utf8mb4;
  DECLARE found VARCHAR(64) CHARACTER SET utf8mb4;
  DECLARE value_list VARCHAR(4000) CHARACTER SET utf8mb4 DEFAULT '';
  DECLARE fields VARCHAR(4000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT ',';
  DECLARE text TEXT CHARACTER SET utf8mb4;

  CALL postern.redis_find_key(in_prefix, in_schema, in_table, NULL, key_list, index_found);
  IF TRIM(IFNULL(fields_wanted, '')) = '' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'The mapping needs fields; ''*'' stands for all columns';
  END IF;
  IF TRIM(fields_wanted) = '*' THEN
    SET fields_wanted = (SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns
                         WHERE table_schema = in_schema AND table_name = in_table
                           AND NOT FIND_IN_SET(column_name, key_list) AND IFNULL(generation_expression, '') = ''
                           AND extra NOT LIKE '%INVISIBLE%' AND NOT column_name REGEXP '[, ]');
    IF fields_wanted IS NULL THEN
      SET text = CONCAT('The table ', in_schema, '.', in_table, ' has no column that could be a field');
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
    END IF;
  END IF;
  SET rest = CONCAT(fields_wanted, ',');
  WHILE rest <> '' DO
    SET piece = TRIM(SUBSTRING_INDEX(rest, ',', 1));
    SET rest = SUBSTRING(rest, LOCATE(',', rest) + 1);
    SET field = TRIM(SUBSTRING(piece, LENGTH(SUBSTRING_INDEX(piece, ' ', 1)) + 1));
    SET piece = SUBSTRING_INDEX(piece, ' ', 1);
    SET found = (SELECT column_name FROM information_schema.columns
                 WHERE table_schema = in_schema AND table_name = in_table AND column_name = piece);
    IF found IS NULL THEN
      SET text = CONCAT('The table ', in_schema, '.', in_table, ' has no column ''', piece, '''');
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
    END IF;
    IF FIND_IN_SET(found, key_list) THEN
      SET text = CONCAT('The column ''', found, ''' is a key column and cannot be a field');
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
    END IF;
    SET field = IF(field = '', found, field);
    IF LOCATE(CONCAT(',', field, ','), fields) THEN
      SET text = CONCAT('The field ''', field, ''' is named twice');
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
    END IF;
    SET fields = CONCAT(fields, field, ',');
    SET value_list = CONCAT_WS(',', NULLIF(value_list, ''), IF(BINARY field = BINARY found, found, CONCAT(found, ' ', field)));
  END WHILE;
  REPLACE INTO postern.redis_maps (prefix, db, kind, db_schema, db_table, key_columns, value_columns, key_index)
    VALUES (in_prefix, 0, 'row', in_schema, in_table, key_list, value_list, index_found);
END //

-- Maps a column as strings: CALL postern.redis_map_value('email:', 'shop', 'user', 'id', 'email'). Key columns are given
-- in any order, and have to be those of the primary key or of a unique index.
CREATE OR REPLACE PROCEDURE postern.redis_map_value(
  IN in_prefix VARBINARY(250),
  IN in_schema VARCHAR(64) CHARACTER SET utf8mb4,
  IN in_table VARCHAR(64) CHARACTER SET utf8mb4,
  IN keys_wanted VARCHAR(250) CHARACTER SET utf8mb4,
  IN value_wanted VARCHAR(64) CHARACTER SET utf8mb4)
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
  COMMENT 'Makes or replaces a mapping of the Redis door: a column is a string'
BEGIN
  DECLARE key_list VARCHAR(250) CHARACTER SET utf8mb4;
  DECLARE index_found VARCHAR(64) CHARACTER SET utf8mb4;
  DECLARE found VARCHAR(64) CHARACTER SET utf8mb4;
  DECLARE text TEXT CHARACTER SET utf8mb4;

  CALL postern.redis_find_key(in_prefix, in_schema, in_table, IFNULL(keys_wanted, ''), key_list, index_found);
  SET found = (SELECT column_name FROM information_schema.columns
               WHERE table_schema = in_schema AND table_name = in_table AND column_name = TRIM(value_wanted));
  IF found IS NULL THEN
    SET text = CONCAT('The table ', in_schema, '.', in_table, ' has no column ''', IFNULL(value_wanted, 'NULL'), '''');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
  END IF;
  IF FIND_IN_SET(found, key_list) THEN
    SET text = CONCAT('The column ''', found, ''' is a key column and cannot be the value');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
  END IF;
  REPLACE INTO postern.redis_maps (prefix, db, kind, db_schema, db_table, key_columns, value_columns, key_index)
    VALUES (in_prefix, 0, 'value', in_schema, in_table, key_list, found, index_found);
END //

-- Sets the column with the expiry of a mapping's keys: CALL postern.redis_map_expiry('session:', 'expires', 'ms').
-- The column's unit is 'ms' or 's', since 1970. NULL for the column: keys do not expire.
CREATE OR REPLACE PROCEDURE postern.redis_map_expiry(
  IN in_prefix VARBINARY(250),
  IN column_wanted VARCHAR(64) CHARACTER SET utf8mb4,
  IN unit_wanted VARCHAR(2) CHARACTER SET utf8mb4)
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
  COMMENT 'Gives a mapping of the Redis door a column for expiry'
BEGIN
  DECLARE found VARCHAR(64) CHARACTER SET utf8mb4;
  DECLARE key_list, value_list TEXT CHARACTER SET utf8mb4;
  DECLARE text TEXT CHARACTER SET utf8mb4;

  SELECT key_columns, value_columns INTO key_list, value_list FROM postern.redis_maps
    WHERE db = 0 AND prefix = in_prefix AND kind <> 'generic';
  IF key_list IS NULL THEN
    SET text = CONCAT('There is no mapping of rows or values for ''', IFNULL(in_prefix, 'NULL'), '''');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
  END IF;
  IF column_wanted IS NOT NULL THEN
    IF IFNULL(unit_wanted, '') NOT IN ('ms', 's') THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'The unit is ''ms'' or ''s''';
    END IF;
    SET found = (SELECT column_name FROM information_schema.columns, postern.redis_maps
                 WHERE db = 0 AND prefix = in_prefix AND table_schema = db_schema AND table_name = db_table
                   AND column_name = column_wanted AND data_type IN ('int', 'bigint'));
    IF found IS NULL THEN
      SET text = CONCAT('The table has no column ''', column_wanted, ''' of type INT or BIGINT');
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
    END IF;
    -- It is no longer a field; another field must remain.
    SET value_list = TRIM(BOTH ',' FROM REPLACE(CONCAT(',', value_list, ','), CONCAT(',', found, ','), ','));
    IF FIND_IN_SET(found, key_list) OR value_list = '' OR value_list LIKE CONCAT('%', found, ' %') THEN
      SET text = CONCAT('The column ''', found, ''' is needed for keys or values');
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
    END IF;
  END IF;
  UPDATE postern.redis_maps
    SET expire_column = found, expire_unit = IF(found IS NULL, 'ms', unit_wanted), value_columns = value_list
    WHERE db = 0 AND prefix = in_prefix;
END //

CREATE OR REPLACE PROCEDURE postern.redis_unmap(IN in_prefix VARBINARY(250))
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
  COMMENT 'Removes a mapping of the Redis door; the tables stay as they are'
BEGIN
  DECLARE text TEXT CHARACTER SET utf8mb4;
  DELETE FROM postern.redis_maps WHERE db = 0 AND prefix = in_prefix;
  IF ROW_COUNT() = 0 THEN
    SET text = CONCAT('There is no mapping for ''', IFNULL(in_prefix, 'NULL'), '''');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
  END IF;
END //

-- The fields and values of an entry of a stream, as JSON. Each is a length in four bytes, followed by its bytes.
CREATE OR REPLACE FUNCTION postern.redis_fields(in_packed LONGBLOB) RETURNS LONGTEXT CHARACTER SET utf8mb4
  DETERMINISTIC
  NO SQL
  SQL SECURITY INVOKER
  COMMENT 'Of an entry of a stream of the Redis door'
BEGIN
  DECLARE place, size, number INT UNSIGNED DEFAULT 1;
  DECLARE json LONGTEXT CHARACTER SET utf8mb4 DEFAULT '';
  SET number = 0;
  WHILE place + 3 <= LENGTH(in_packed) DO
    SET size = CONV(HEX(SUBSTRING(in_packed, place, 4)), 16, 10);
    SET json = CONCAT(json, CASE WHEN number = 0 THEN '' WHEN number % 2 = 0 THEN ', ' ELSE ': ' END,
                      JSON_QUOTE(CONVERT(SUBSTRING(in_packed, place + 4, size) USING utf8mb4)));
    SET place = place + 4 + size, number = number + 1;
  END WHILE;
  RETURN CONCAT('{', json, '}');
END //

-- Makes the tables of streams and their views in the database of a generic keyspace.
CREATE OR REPLACE PROCEDURE postern.redis_make_streams(IN in_schema VARCHAR(64) CHARACTER SET utf8mb4)
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
  COMMENT 'Part of redis_make_keyspace'
BEGIN
  DECLARE live VARCHAR(200) DEFAULT 'e.expires = 0 OR e.expires > CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)';
  DECLARE place TEXT CHARACTER SET utf8mb4;

  SET place = CONCAT('`', REPLACE(in_schema, '`', '``'), '`');
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE IF NOT EXISTS ', place, '.streams (
    k VARBINARY(512) NOT NULL, ms BIGINT UNSIGNED NOT NULL, seq BIGINT UNSIGNED NOT NULL,
    v LONGBLOB NOT NULL COMMENT ''fields and values: postern.redis_fields() makes JSON of them'',
    PRIMARY KEY (k, ms, seq)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC');
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE IF NOT EXISTS ', place, '.stream_groups (
    k VARBINARY(512) NOT NULL, g VARBINARY(512) NOT NULL,
    ms BIGINT UNSIGNED NOT NULL COMMENT ''of the entry that was delivered last, as seq'',
    seq BIGINT UNSIGNED NOT NULL,
    entries_read BIGINT NOT NULL COMMENT ''-1: unknown'',
    PRIMARY KEY (k, g)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC');
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE IF NOT EXISTS ', place, '.stream_consumers (
    k VARBINARY(512) NOT NULL, g VARBINARY(512) NOT NULL, c VARBINARY(512) NOT NULL,
    seen BIGINT NOT NULL COMMENT ''milliseconds since 1970'',
    PRIMARY KEY (k, g, c)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC');
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE IF NOT EXISTS ', place, '.stream_pending (
    k VARBINARY(512) NOT NULL, g VARBINARY(512) NOT NULL, ms BIGINT UNSIGNED NOT NULL, seq BIGINT UNSIGNED NOT NULL,
    c VARBINARY(512) NOT NULL, delivered BIGINT NOT NULL COMMENT ''milliseconds since 1970'', times BIGINT NOT NULL,
    PRIMARY KEY (k, g, ms, seq)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC');

  EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE VIEW ', place, '.v_streams AS
    SELECT s.k, CONCAT(s.ms, ''-'', s.seq) AS id, postern.redis_fields(s.v) AS fields, s.ms, s.seq, e.expires
    FROM ', place, '.entries AS e JOIN ', place, '.streams AS s USING (k) WHERE e.type = 6 AND (', live, ')');
  EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE VIEW ', place, '.v_stream_pending AS
    SELECT p.k, p.g, CONCAT(p.ms, ''-'', p.seq) AS id, p.c, p.delivered, p.times, p.ms, p.seq
    FROM ', place, '.entries AS e JOIN ', place, '.stream_pending AS p USING (k) WHERE e.type = 6 AND (', live, ')');
END //

-- Makes the missing tables of a generic keyspace in the database `in_schema`, and maps them:
-- CALL postern.redis_make_keyspace(1, '', 'postern_redis1'). Keys are up to 512 bytes, fields too, members up to 1024.
CREATE OR REPLACE PROCEDURE postern.redis_make_keyspace(
  IN in_db TINYINT UNSIGNED,
  IN in_prefix VARBINARY(250),
  IN in_schema VARCHAR(64) CHARACTER SET utf8mb4)
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
  COMMENT 'Makes and maps tables of the Redis door that take any key'
BEGIN
  DECLARE live VARCHAR(200) DEFAULT 'e.expires = 0 OR e.expires > CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)';
  DECLARE place TEXT CHARACTER SET utf8mb4;
  DECLARE text TEXT CHARACTER SET utf8mb4;

  IF in_db IS NULL OR in_db > 15 OR in_prefix IS NULL OR IFNULL(in_schema, '') = '' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'A keyspace needs a number from 0 to 15, a prefix and a database';
  END IF;
  IF EXISTS (SELECT * FROM postern.redis_maps WHERE db = in_db AND prefix = in_prefix
             AND NOT (kind = 'generic' AND db_schema = in_schema)) THEN
    SET text = CONCAT('The prefix ''', in_prefix, ''' of database ', in_db, ' is mapped already');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
  END IF;
  IF EXISTS (SELECT * FROM postern.redis_maps WHERE db_schema = in_schema AND kind = 'generic'
             AND NOT (db = in_db AND prefix = in_prefix)) THEN
    SET text = CONCAT('The database ', in_schema, ' is another keyspace already');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = text;
  END IF;

  SET place = CONCAT('`', REPLACE(in_schema, '`', '``'), '`');
  EXECUTE IMMEDIATE CONCAT('CREATE DATABASE IF NOT EXISTS ', place, ' CHARACTER SET utf8mb4');
  -- A key, with the value of a string. SQL that writes elements of the tables below also writes here, by
  -- postern.redis_touch().
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE IF NOT EXISTS ', place, '.entries (
    k VARBINARY(512) NOT NULL PRIMARY KEY,
    type TINYINT UNSIGNED NOT NULL COMMENT ''1 string, 2 list, 3 set, 4 hash, 5 sorted set, 6 stream'',
    v LONGBLOB NULL COMMENT ''the string; of a stream its last id, highest deleted id and count of entries ever'',
    expires BIGINT NOT NULL DEFAULT 0 COMMENT ''milliseconds since 1970; 0 is never'',
    version BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT ''changes with every write'',
    len BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT ''elements'',
    head BIGINT NOT NULL DEFAULT 0 COMMENT ''lists: position of the first element'',
    KEY (expires)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC');
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE IF NOT EXISTS ', place, '.hashes (
    k VARBINARY(512) NOT NULL, f VARBINARY(512) NOT NULL, v LONGBLOB NOT NULL,
    PRIMARY KEY (k, f)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC');
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE IF NOT EXISTS ', place, '.sets (
    k VARBINARY(512) NOT NULL, m VARBINARY(1024) NOT NULL,
    PRIMARY KEY (k, m)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC');
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE IF NOT EXISTS ', place, '.zsets (
    k VARBINARY(512) NOT NULL, m VARBINARY(1024) NOT NULL, score DOUBLE NOT NULL,
    PRIMARY KEY (k, m), KEY by_score (k, score, m)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC');
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE IF NOT EXISTS ', place, '.lists (
    k VARBINARY(512) NOT NULL, pos BIGINT NOT NULL, v LONGBLOB NOT NULL,
    PRIMARY KEY (k, pos)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC');
  CALL postern.redis_make_streams(in_schema);

  -- Keys that have not expired, for SQL.
  EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE VIEW ', place, '.v_strings AS
    SELECT e.k, e.v, e.expires FROM ', place, '.entries AS e WHERE e.type = 1 AND (', live, ')');
  EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE VIEW ', place, '.v_hashes AS
    SELECT h.k, h.f, h.v, e.expires FROM ', place, '.entries AS e JOIN ', place, '.hashes AS h USING (k)
    WHERE e.type = 4 AND (', live, ')');
  EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE VIEW ', place, '.v_sets AS
    SELECT s.k, s.m, e.expires FROM ', place, '.entries AS e JOIN ', place, '.sets AS s USING (k)
    WHERE e.type = 3 AND (', live, ')');
  EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE VIEW ', place, '.v_zsets AS
    SELECT z.k, z.m, z.score, e.expires FROM ', place, '.entries AS e JOIN ', place, '.zsets AS z USING (k)
    WHERE e.type = 5 AND (', live, ')');
  EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE VIEW ', place, '.v_lists AS
    SELECT l.k, l.pos - e.head AS i, l.v, e.expires FROM ', place, '.entries AS e JOIN ', place, '.lists AS l USING (k)
    WHERE e.type = 2 AND (', live, ')');

  REPLACE INTO postern.redis_maps (prefix, db, kind, db_schema, db_table, key_columns, value_columns, expire_column,
                                   version_column, options)
    VALUES (in_prefix, in_db, 'generic', in_schema, 'entries', 'k', 'v', 'expires', 'version', '');
END //

-- Updates the type, length and version in the key's row after a change of its elements. A key without elements that is
-- not a string is deleted. To be called in the transaction that changed the elements.
CREATE OR REPLACE PROCEDURE postern.redis_touch(IN in_key VARBINARY(512))
  MODIFIES SQL DATA
  SQL SECURITY INVOKER
  COMMENT 'After SQL has changed elements of a key of the Redis door'
BEGIN
  DECLARE elements BIGINT UNSIGNED DEFAULT 0;
  DECLARE first BIGINT DEFAULT 0;
  DECLARE found TINYINT UNSIGNED;

  -- The key's row is locked before its elements are counted, as the door does it.
  SELECT type INTO found FROM postern_redis.entries WHERE k = in_key FOR UPDATE;
  SET found = NULL;
  SELECT 4, COUNT(*), 0 INTO found, elements, first FROM postern_redis.hashes WHERE k = in_key HAVING COUNT(*) > 0;
  IF found IS NULL THEN
    SELECT 3, COUNT(*), 0 INTO found, elements, first FROM postern_redis.sets WHERE k = in_key HAVING COUNT(*) > 0;
  END IF;
  IF found IS NULL THEN
    SELECT 5, COUNT(*), 0 INTO found, elements, first FROM postern_redis.zsets WHERE k = in_key HAVING COUNT(*) > 0;
  END IF;
  IF found IS NULL THEN
    SELECT 2, COUNT(*), MIN(pos) INTO found, elements, first FROM postern_redis.lists WHERE k = in_key
    HAVING COUNT(*) > 0;
  END IF;
  IF found = 2 THEN
    -- The door finds elements of lists by their positions, which have no gaps.
    SET @postern_redis_place = first - 1;
    UPDATE postern_redis.lists SET pos = (@postern_redis_place := @postern_redis_place + 1) WHERE k = in_key
    ORDER BY pos;
  END IF;
  IF found IS NOT NULL THEN
    INSERT INTO postern_redis.entries (k, type, v, version, len, head)
      VALUES (in_key, found, NULL, UNIX_TIMESTAMP(NOW(6)) * 1000000, elements, first)
      ON DUPLICATE KEY UPDATE type = found, v = NULL, version = version + 1, len = elements, head = first;
  ELSE
    DELETE FROM postern_redis.entries WHERE k = in_key AND type NOT IN (1, 6);
    UPDATE postern_redis.entries SET version = version + 1 WHERE k = in_key;
  END IF;
END //

-- Only the first time: an administrator may have unmapped the keyspace later.
IF NOT EXISTS (SELECT * FROM information_schema.schemata WHERE schema_name = 'postern_redis') THEN
  CALL postern.redis_make_keyspace(0, '', 'postern_redis');
END IF //

-- Adds newer tables to keyspaces of an older script.
BEGIN NOT ATOMIC
  FOR keyspace IN (SELECT DISTINCT db_schema FROM postern.redis_maps WHERE kind = 'generic') DO
    CALL postern.redis_make_streams(keyspace.db_schema);
  END FOR;
END //

DELIMITER ;
