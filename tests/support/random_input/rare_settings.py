"""Session settings that force the server's rarer executions: sorts of rowids and in several passes, temporary tables on
disk, join buffers, and each strategy of the optimizer switched on or off."""

SWITCHES = (
    "condition_pushdown_for_derived",
    "condition_pushdown_for_subquery",
    "condition_pushdown_from_having",
    "derived_merge",
    "derived_with_keys",
    "engine_condition_pushdown",
    "exists_to_in",
    "extended_keys",
    "firstmatch",
    "hash_join_cardinality",
    "in_to_exists",
    "index_condition_pushdown",
    "index_merge",
    "index_merge_intersection",
    "index_merge_sort_intersection",
    "index_merge_sort_union",
    "index_merge_union",
    "join_cache_bka",
    "join_cache_hashed",
    "join_cache_incremental",
    "loosescan",
    "materialization",
    "mrr",
    "mrr_cost_based",
    "mrr_sort_keys",
    "not_null_range_scan",
    "optimize_join_buffer_size",
    "orderby_uses_equalities",
    "outer_join_with_cache",
    "partial_match_rowid_merge",
    "partial_match_table_scan",
    "rowid_filter",
    "sargable_casefold",
    "semijoin",
    "semijoin_with_cache",
    "split_materialized",
    "subquery_cache",
    "table_elimination",
)
MODES = (
    "''",
    "'ONLY_FULL_GROUP_BY'",
    "'PAD_CHAR_TO_FULL_LENGTH'",
    "'NO_UNSIGNED_SUBTRACTION'",
    "'ANSI_QUOTES,PIPES_AS_CONCAT'",
    "'TRADITIONAL'",
    "'TIME_ROUND_FRACTIONAL'",
)
VALUES = {
    "max_length_for_sort_data": (4, 8, 40, 200),  # longer rows are sorted by rowids
    "max_sort_length": (64, 70, 1024),
    "sort_buffer_size": (2048, 8192, 16384),
    "tmp_memory_table_size": (0, 1024, 16384),
    "max_heap_table_size": (16384,),
    "big_tables": (0, 1),
    "join_buffer_size": (128, 1024),
    "join_cache_level": range(9),
    "join_buffer_space_limit": (2048,),
    "mrr_buffer_size": (8192,),
    "read_rnd_buffer_size": (1, 4096),
    "eq_range_index_dive_limit": (0, 1, 2, 200),
    "optimizer_use_condition_selectivity": range(1, 6),
    "optimizer_search_depth": (0, 1, 2, 62),
    "optimizer_prune_level": (0, 1),
    "optimizer_selectivity_sampling_limit": (10,),
    "optimizer_adjust_secondary_key_costs": ("''", "'disable_max_seek'", "'adjust_secondary_key_cost'"),
    "optimizer_disk_read_ratio": (0, 1),
    "optimizer_where_cost": (0, 1000),
    "optimizer_scan_setup_cost": (0, 10000),
    "expensive_subquery_limit": (0, 1, 100),
    "in_predicate_conversion_threshold": (0, 2, 3),
    "max_seeks_for_key": (1, 10),
    "group_concat_max_len": (8, 64, 1048576),
    "use_stat_tables": ("never", "complementary", "preferably"),
    "sql_mode": MODES,
    "sql_buffer_result": (0, 1),
    "div_precision_increment": (0, 10),
    "collation_connection": ("utf8mb4_bin", "utf8mb4_general_ci", "latin1_swedish_ci"),
    "character_set_results": ("utf8mb4", "NULL", "latin1"),
}


def one(chance):
    """A random assignment, for SET; a server of another series may not have the variable, or the switch."""
    if chance.random() < 0.4:
        flags = ",".join(
            f"{name}={chance.choice(('on', 'off'))}" for name in chance.sample(SWITCHES, chance.choice((1, 1, 2, 5)))
        )
        return f"optimizer_switch = '{flags}'"
    name = chance.choice(list(VALUES))
    return f"{name} = {chance.choice(VALUES[name])}"


def some(chance):
    return [one(chance) for _ in range(chance.choice((0, 1, 2, 3, 5, 8)))]
