#include "engine/mariadb/hosted/planned/joins/value_items.h"

#include "engine/sql/texts/plain_text.h"
#include "engine/sql/plans/plan_values.h"

namespace postern::mariadb {
namespace {

/// Common behaviour towards the optimizer: not constant, and not copied.
template <class Cache>
class Outer : public Cache {
 public:
  using Cache::Cache;
  bool basic_const_item() const override { return false; }
  bool eq(const Item *other, const Item::Eq_config &) const override { return this == other; }
  bool is_expensive() override { return false; }
  bool is_expensive_processor(void *) override { return false; }
  Item *clone_constant(THD *) const override { return const_cast<Outer *>(this); }
  Item *convert_to_basic_const_item(THD *) override { return this; }

 protected:
  Item *shallow_copy(THD *) const override { return const_cast<Outer *>(this); }
  Item *deep_copy(THD *) const override { return const_cast<Outer *>(this); }

  void show_to_optimizer(bool shown) { this->set_used_tables(shown ? 0 : OUTER_REF_TABLE_BIT); }
  void become_outer() {
    show_to_optimizer(false);
    this->base_flags &= ~item_base_t::MAYBE_NULL;
  }
  void note_value() {
    this->value_cached = true;
    this->null_value = this->null_value_inside = false;
  }
};

class IntegerItem final : public Outer<Item_cache_int>, public ValueItem {
 public:
  IntegerItem(THD *thd, Item *like) : Outer(thd, like->type_handler()) {
    setup(thd, like);
    become_outer();
    note_value();
  }
  Item *item() override { return this; }
  void show(bool shown) override { show_to_optimizer(shown); }
  void take(THD *, const Value &given, Field &field) override {
    if (given.kind() == Value::Kind::integer) value = given.integer();
    else if (given.kind() == Value::Kind::natural) value = static_cast<longlong>(given.natural());
    else value = field.val_int();
    note_value();
  }
  void take_number(uint64_t number) override {
    value = static_cast<longlong>(number);
    note_value();
  }
};

class DecimalItem final : public Outer<Item_cache_decimal>, public ValueItem {
 public:
  DecimalItem(THD *thd, Item *like) : Outer(thd) {
    setup(thd, like);
    become_outer();
    // A list of IN is sorted by its values while it is resolved, before the first ones are taken.
    my_decimal_set_zero(&decimal_value);
    note_value();
  }
  Item *item() override { return this; }
  void show(bool shown) override { show_to_optimizer(shown); }
  void take(THD *, const Value &, Field &field) override {
    my_decimal room;
    my_decimal2decimal(field.val_decimal(&room), &decimal_value);
    note_value();
  }
};

class TimeItem final : public Outer<Item_cache_datetime>, public ValueItem {
 public:
  TimeItem(THD *thd, Item *like) : Outer(thd) {
    setup(thd, like);
    become_outer();
    note_value();
  }
  Item *item() override { return this; }
  void show(bool shown) override { show_to_optimizer(shown); }
  void take(THD *thd, const Value &, Field &field) override {
    value = field.val_datetime_packed(thd);
    note_value();
  }
};

/// A text that points to where the execution's stands.
class TextLiteral final : public Item_string {
 public:
  TextLiteral(THD *thd, CHARSET_INFO *charset)
      : Item_string(thd, STRING_WITH_LEN("a literal of usual length, no more"), charset) {}
  void point_to(Bytes text) { str_value.set(text.data(), text.size(), collation.collation); }
};

class TextItem final : public Outer<Item_cache_str>, public ValueItem {
 public:
  TextItem(THD *thd, TextLiteral *like) : Outer(thd, like), literal_(like) {
    setup(thd, like);
    // Texts beyond ASCII may come. In the column's character set it is the same bytes: text_is_same().
    collation.set(collation.collation, DERIVATION_COERCIBLE, MY_REPERTOIRE_UNICODE30);
    become_outer();
    cache_value();
  }
  Item *item() override { return this; }
  void show(bool shown) override { show_to_optimizer(shown); }
  void take(THD *, const Value &given, Field &) override {
    Bytes text = given.bytes();
    if (given.spelling() == Value::Spelling::real) sql::written(given.bytes(), text);
    literal_->point_to(text);
    example = literal_;
    cache_value();
    null_value_inside = false;
  }

 private:
  TextLiteral *const literal_;
};

}  // namespace

ValueItem *ValueItem::make(THD *thd, const ValuePlace &place, const Value &first) {
  MEM_ROOT *const root = thd->mem_root;
  switch (place.use) {
    case ValueUse::shapes: return nullptr;
    case ValueUse::integer:
    case ValueUse::sum:
    case ValueUse::decimal:
    case ValueUse::limit:
    case ValueUse::offset: {
      if (place.use == ValueUse::decimal && sql::is_decimal(first)) {
        auto *const like = new (root)
            Item_decimal(thd, STRING_WITH_LEN("0.00000000000000000000000000000000000000"), &my_charset_latin1);
        return like != nullptr ? new (root) DecimalItem(thd, like) : nullptr;
      }
      // As wide as any that may come.
      const bool is_sums = place.use == ValueUse::sum;
      const bool is_natural = is_sums ? first.kind() == Value::Kind::natural : sql::is_beyond(first);
      Item *const like = is_natural ? new (root) Item_uint(thd, "", static_cast<longlong>(ULONGLONG_MAX), 20)
                                    : new (root) Item_int(thd, INT_MIN64, 20);
      return like != nullptr ? new (root) IntegerItem(thd, like) : nullptr;
    }
    case ValueUse::text:
    case ValueUse::uuid: {
      auto *const like = new (root) TextLiteral(thd, place.charset);
      return like != nullptr ? new (root) TextItem(thd, like) : nullptr;
    }
    case ValueUse::time: {
      auto *const like = new (root) Item_cache_datetime(thd);
      if (like == nullptr) return nullptr;
      like->decimals = TIME_SECOND_PART_DIGITS;
      like->max_length = MAX_DATETIME_WIDTH + 1 + TIME_SECOND_PART_DIGITS;
      return new (root) TimeItem(thd, like);
    }
  }
  return nullptr;
}

}  // namespace postern::mariadb
