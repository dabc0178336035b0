#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/thd/lex_of_text.h"

#include <new>
#include <vector>

namespace postern::mariadb {

namespace {

struct Root {
  Root() { init_alloc_root(PSI_NOT_INSTRUMENTED, &root, 8192, 0, MYF(MY_THREAD_SPECIFIC)); }
  ~Root() { free_root(&root, MYF(0)); }
  MEM_ROOT root;
};

}  // namespace

struct LexOfText::Parsed {
  /// Throws std::bad_alloc.
  Parsed(THD *of, Bytes text)
      : thd(of), arena(&memory.root, Query_arena::STMT_INITIALIZED), buffer(text.begin(), text.end()) {
    buffer.push_back('\0');  // the lexer looks beyond the end
  }

  void parse();
  void put_back();

  THD *thd;
  Root memory;
  Query_arena arena;
  Query_arena backup_arena;
  LEX lex;
  LEX *backup_lex = nullptr;
  Query_arena *backup_stmt_arena = nullptr;
  Dummy_error_handler silence;
  std::vector<char> buffer;
  bool good = false;
};

void LexOfText::Parsed::parse() {
  backup_lex = thd->lex;
  backup_stmt_arena = thd->stmt_arena;
  thd->push_internal_handler(&silence);
  thd->set_n_backup_active_arena(&arena, &backup_arena);
  thd->stmt_arena = &arena;
  thd->lex = &lex;

  Parser_state state;
  if (state.init(thd, buffer.data(), buffer.size() - 1)) return;
  state.m_lip.stmt_prepare_mode = true;
  state.m_lip.multi_statements = false;
  lex_start(thd);
  lex.context_analysis_only |= CONTEXT_ANALYSIS_ONLY_PREPARE;
  good = !parse_sql(thd, &state, nullptr) && !silence.any_error();
}

void LexOfText::Parsed::put_back() {
  thd->end_statement();
  thd->restore_active_arena(&arena, &backup_arena);
  arena.free_items();
  thd->lex = backup_lex;
  thd->stmt_arena = backup_stmt_arena;
  thd->pop_internal_handler();
}

LexOfText::LexOfText(THD *thd, Bytes text) : parsed_(new (std::nothrow) Parsed(thd, text)) {
  if (parsed_) parsed_->parse();
}

LexOfText::~LexOfText() {
  if (!parsed_) return;
  parsed_->put_back();
  delete parsed_;
}

LEX *LexOfText::lex() const {
  return parsed_ && parsed_->good ? &parsed_->lex : nullptr;
}

}  // namespace postern::mariadb
