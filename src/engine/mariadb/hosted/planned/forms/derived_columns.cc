#include "engine/mariadb/hosted/planned/forms/server.h"

#include "engine/mariadb/hosted/planned/forms/derived_columns.h"

#include "engine/mariadb/hosted/reads/recogniser.h"

namespace postern::mariadb {

FormDerived derived_of(const TABLE_LIST &table) {
  SELECT_LEX &select = *table.derived->first_select();
  FormDerived derived{.alias = text_of(table.alias),
                      .select = table.select_lex->select_number,
                      .inner = select.select_number,
                      .columns = {},
                      .sorted_whole = select.order_list.elements != 0 && select.limit_params.select_limit == nullptr};
  List_iterator_fast<Item> all(select.item_list);
  while (const Item *one = all++) {
    FormColumn column;
    if (one->name.str != nullptr) column.name = text_of(one->name);
    if (one->type() == Item::FIELD_ITEM) {
      const auto &field = static_cast<const Item_ident &>(*one);
      column.column = text_of(field.field_name);
      if (field.table_name.str != nullptr) column.table = text_of(field.table_name);
    }
    if (column.column == "*") {
      derived.columns.clear();
      break;
    }
    derived.columns.push_back(std::move(column));
  }
  return derived;
}

}  // namespace postern::mariadb
