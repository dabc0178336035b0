CREATE DATABASE IF NOT EXISTS shop;
USE shop;
CREATE TABLE users (
  id INT AUTO_INCREMENT PRIMARY KEY, email VARCHAR(190) NOT NULL, name VARCHAR(100), city_id INT,
  visits INT NOT NULL DEFAULT 0, balance DECIMAL(10,2), created_at DATETIME, UNIQUE KEY email (email), KEY city (city_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE kv (k VARCHAR(100) PRIMARY KEY, v TEXT, exp INT) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE order_items (
  order_id INT, line_no INT, sku VARCHAR(40), qty INT, PRIMARY KEY (order_id, line_no)
) ENGINE=InnoDB;
CREATE TABLE sbtest1 (
  id INT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '',
  KEY k_1 (k)
) ENGINE=InnoDB;

CREATE DATABASE IF NOT EXISTS wordpress;
USE wordpress;
CREATE TABLE wp_options (
  option_id bigint(20) unsigned NOT NULL AUTO_INCREMENT, option_name varchar(191) NOT NULL DEFAULT '',
  option_value longtext NOT NULL, autoload varchar(20) NOT NULL DEFAULT 'yes',
  PRIMARY KEY (option_id), UNIQUE KEY option_name (option_name), KEY autoload (autoload)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE wp_posts (
  ID bigint(20) unsigned NOT NULL AUTO_INCREMENT, post_author bigint(20) unsigned NOT NULL DEFAULT 0,
  post_date datetime NOT NULL DEFAULT '2026-01-01 00:00:00', post_content longtext NOT NULL DEFAULT '',
  post_title text NOT NULL DEFAULT '', post_status varchar(20) NOT NULL DEFAULT 'publish',
  post_name varchar(200) NOT NULL DEFAULT '', post_parent bigint(20) unsigned NOT NULL DEFAULT 0,
  post_type varchar(20) NOT NULL DEFAULT 'post', comment_count bigint(20) NOT NULL DEFAULT 0,
  PRIMARY KEY (ID), KEY post_name (post_name(191)), KEY type_status_date (post_type, post_status, post_date, ID),
  KEY post_parent (post_parent), KEY post_author (post_author)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE wp_postmeta (
  meta_id bigint(20) unsigned NOT NULL AUTO_INCREMENT, post_id bigint(20) unsigned NOT NULL DEFAULT 0,
  meta_key varchar(255) DEFAULT NULL, meta_value longtext,
  PRIMARY KEY (meta_id), KEY post_id (post_id), KEY meta_key (meta_key(191))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE wp_users (
  ID bigint(20) unsigned NOT NULL AUTO_INCREMENT, user_login varchar(60) NOT NULL DEFAULT '',
  user_email varchar(100) NOT NULL DEFAULT '', display_name varchar(250) NOT NULL DEFAULT '',
  PRIMARY KEY (ID), KEY user_login_key (user_login), KEY user_email (user_email)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE wp_usermeta (
  umeta_id bigint(20) unsigned NOT NULL AUTO_INCREMENT, user_id bigint(20) unsigned NOT NULL DEFAULT 0,
  meta_key varchar(255) DEFAULT NULL, meta_value longtext,
  PRIMARY KEY (umeta_id), KEY user_id (user_id), KEY meta_key (meta_key(191))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE wp_terms (
  term_id bigint(20) unsigned NOT NULL AUTO_INCREMENT, name varchar(200) NOT NULL DEFAULT '', slug varchar(200) NOT NULL DEFAULT '',
  PRIMARY KEY (term_id), KEY slug (slug(191)), KEY name (name(191))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE wp_term_taxonomy (
  term_taxonomy_id bigint(20) unsigned NOT NULL AUTO_INCREMENT, term_id bigint(20) unsigned NOT NULL DEFAULT 0,
  taxonomy varchar(32) NOT NULL DEFAULT '', count bigint(20) NOT NULL DEFAULT 0,
  PRIMARY KEY (term_taxonomy_id), UNIQUE KEY term_id_taxonomy (term_id, taxonomy), KEY taxonomy (taxonomy)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE wp_comments (
  comment_ID bigint(20) unsigned NOT NULL AUTO_INCREMENT, comment_post_ID bigint(20) unsigned NOT NULL DEFAULT 0,
  comment_approved varchar(20) NOT NULL DEFAULT '1', comment_author_url varchar(200) NOT NULL DEFAULT '',
  PRIMARY KEY (comment_ID), KEY comment_post_ID (comment_post_ID)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;

CREATE DATABASE IF NOT EXISTS mediawiki;
USE mediawiki;
CREATE TABLE `page` (
  page_id INT UNSIGNED AUTO_INCREMENT NOT NULL, page_namespace INT NOT NULL, page_title VARBINARY(255) NOT NULL,
  page_is_redirect TINYINT UNSIGNED DEFAULT 0 NOT NULL, page_touched BINARY(14) NOT NULL DEFAULT '20260101000000',
  page_latest INT UNSIGNED NOT NULL DEFAULT 0, page_len INT UNSIGNED NOT NULL DEFAULT 0,
  UNIQUE INDEX page_name_title (page_namespace, page_title), INDEX page_len (page_len), PRIMARY KEY (page_id)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
CREATE TABLE `revision` (
  rev_id BIGINT UNSIGNED AUTO_INCREMENT NOT NULL, rev_page INT UNSIGNED NOT NULL, rev_actor BIGINT UNSIGNED NOT NULL DEFAULT 0,
  rev_timestamp BINARY(14) NOT NULL DEFAULT '20260101000000', INDEX rev_page_timestamp (rev_page, rev_timestamp), PRIMARY KEY (rev_id)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
CREATE TABLE `actor` (
  actor_id BIGINT UNSIGNED AUTO_INCREMENT NOT NULL, actor_user INT UNSIGNED DEFAULT NULL, actor_name VARBINARY(255) NOT NULL,
  UNIQUE INDEX actor_user (actor_user), UNIQUE INDEX actor_name (actor_name), PRIMARY KEY (actor_id)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
CREATE TABLE `objectcache` (
  keyname VARBINARY(255) DEFAULT '' NOT NULL, value MEDIUMBLOB DEFAULT NULL, exptime BINARY(14) NOT NULL, modtoken VARCHAR(17) DEFAULT '00000000000000000' NOT NULL,
  INDEX exptime (exptime), PRIMARY KEY (keyname)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
CREATE TABLE `site_stats` (
  ss_row_id INT UNSIGNED NOT NULL, ss_total_edits BIGINT UNSIGNED, ss_total_pages BIGINT, PRIMARY KEY (ss_row_id)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
CREATE TABLE `l10n_cache` (
  lc_lang VARBINARY(35) NOT NULL, lc_key VARCHAR(255) NOT NULL, lc_value MEDIUMBLOB NOT NULL, PRIMARY KEY (lc_lang, lc_key)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
CREATE TABLE `user` (
  user_id INT UNSIGNED AUTO_INCREMENT NOT NULL, user_name VARBINARY(255) DEFAULT '' NOT NULL, user_touched BINARY(14) NOT NULL DEFAULT '20260101000000',
  user_editcount INT DEFAULT NULL, UNIQUE INDEX user_name (user_name), PRIMARY KEY (user_id)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
CREATE TABLE `job` (
  job_id INT UNSIGNED AUTO_INCREMENT NOT NULL, job_cmd VARBINARY(60) DEFAULT '' NOT NULL, job_title VARBINARY(255) NOT NULL DEFAULT '',
  job_token VARBINARY(32) DEFAULT '' NOT NULL, job_params MEDIUMBLOB DEFAULT NULL, job_random INT UNSIGNED NOT NULL DEFAULT 0,
  INDEX job_cmd_token (job_cmd, job_token, job_random), PRIMARY KEY (job_id)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
CREATE TABLE `user_properties` (
  up_user INT UNSIGNED NOT NULL, up_property VARBINARY(255) NOT NULL, up_value BLOB DEFAULT NULL, PRIMARY KEY (up_user, up_property)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
