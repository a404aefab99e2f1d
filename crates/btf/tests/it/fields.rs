//! Special fields, row by row as Linux 6.18 finds them.
//!
//! Each value was made into a hash map there, and each 4-byte step of it read by a program: the
//! refusal (`bpf_timer cannot be accessed directly by load/store`) names the field.

use skep_btf::*;

/// A BTF with the kernel's structs and a few of ours, for members to choose from.
struct World {
    b: BtfBuilder,
    int: TypeId,
}

impl World {
    fn new() -> World {
        let mut b = BtfBuilder::new();
        let int = b.int("int", 4, IntEncoding::SIGNED);
        for (name, size) in [
            ("bpf_spin_lock", 4),
            ("bpf_res_spin_lock", 4),
            ("bpf_timer", 16),
            ("bpf_wq", 16),
            ("bpf_task_work", 8),
            ("bpf_list_head", 16),
            ("bpf_list_node", 24),
            ("bpf_rb_root", 16),
            ("bpf_rb_node", 32),
            ("bpf_refcount", 4),
            ("foo", 4),
        ] {
            b.struct_(name, size, &[MemberDef::new("opaque", int, 0)]);
        }
        let mut w = World { b, int };
        let node = w.member("bpf_list_node");
        w.b.struct_("node", 32, &[MemberDef::new("d", int, 0), MemberDef::new("l", node, 64)]);
        w
    }

    /// `bpf_timer`, `bpf_timer[2]`, `foo kptr *`, `inner`: the type of a member.
    fn member(&mut self, text: &str) -> TypeId {
        if let Some((elem, count)) = text.strip_suffix(']').and_then(|t| t.rsplit_once('[')) {
            let elem = self.member(elem);
            return self.b.array(elem, self.int, count.parse().unwrap());
        }
        if let Some(text) = text.strip_prefix("const ") {
            let of = self.member(text);
            return self.b.modifier(Kind::Const, of);
        }
        if let Some(text) = text.strip_prefix("volatile ") {
            let of = self.member(text);
            return self.b.modifier(Kind::Volatile, of);
        }
        if let Some(text) = text.strip_suffix(" *") {
            let mut words = text.split(' ');
            let mut to = self.member(words.next().unwrap());
            let tags: Vec<&str> = words.collect();
            for tag in tags.iter().rev() {
                to = self.b.type_tag(tag, to);
            }
            return self.b.ptr(to);
        }
        match text {
            "int" => self.int,
            "fwd" => self.b.fwd("nowhere", false),
            "typedef" => {
                let lock = self.member("bpf_spin_lock");
                self.b.typedef_("lock_t", lock)
            }
            "union" => {
                let lock = self.member("bpf_spin_lock");
                self.b.union_("", 4, &[MemberDef::new("l", lock, 0)])
            }
            "inner" => {
                let ptr = self.member("foo kptr *");
                self.b.struct_(
                    "inner",
                    16,
                    &[MemberDef::new("p", ptr, 0), MemberDef::new("x", self.int, 64)],
                )
            }
            "locked" => {
                let lock = self.member("bpf_spin_lock");
                self.b.struct_(
                    "locked",
                    8,
                    &[MemberDef::new("x", self.int, 0), MemberDef::new("l", lock, 32)],
                )
            }
            name => {
                let btf = self.b.build().unwrap();
                btf.find_by_name_kind(name, Kind::Struct).unwrap()
            }
        }
    }

    /// `struct val` of these members, 64 bytes apart unless they say `@offset`; `!tag` after a
    /// member is its decl tag.
    fn value(mut self, members: &[&str]) -> (Btf, TypeId) {
        let mut built = Vec::new();
        let mut tags = Vec::new();
        for (n, text) in members.iter().enumerate() {
            let (text, tag) =
                text.split_once(" !").map_or((*text, None), |(t, tag)| (t, Some(tag)));
            let (text, offset) = text.split_once(" @").unwrap_or((text, ""));
            let offset = offset.parse().unwrap_or(64 * n as u32);
            built.push(MemberDef::new("m", self.member(text), offset * 8));
            tags.extend(tag.map(|tag| (tag, n as u32)));
        }
        let val = self.b.struct_("val", 64 * members.len() as u32, &built);
        for (tag, n) in tags {
            self.b.decl_tag(tag, val, Some(n));
        }
        (self.b.build().unwrap(), val)
    }
}

fn found(members: &[&str]) -> Option<Vec<(FieldKind, u32)>> {
    let (btf, val) = World::new().value(members);
    let fields = special_fields(&btf, val).ok()?;
    Some(fields.iter().map(|f| (f.kind, f.offset)).collect())
}

#[test]
fn fields_are_found() {
    use FieldKind::*;
    type Row = (&'static [&'static str], &'static [(FieldKind, u32)]);
    let rows: &[Row] = &[
        (&["bpf_spin_lock", "int"], &[(SpinLock, 0)]),
        (&["bpf_res_spin_lock"], &[(ResSpinLock, 0)]),
        (
            &["bpf_timer", "bpf_wq", "bpf_task_work"],
            &[(Timer, 0), (Workqueue, 64), (TaskWork, 128)],
        ),
        (&["bpf_timer[1]"], &[(Timer, 0)]),
        (&["bpf_timer[0]"], &[]),
        (&["bpf_timer @4"], &[]),
        (&["typedef", "const bpf_spin_lock", "union"], &[]),
        (&["locked"], &[(SpinLock, 4)]),
        (&["locked[1]"], &[(SpinLock, 4)]),
        // Where a struct is, does not matter to what is in it.
        (&["int", "locked @5"], &[(SpinLock, 9)]),
        (&["bpf_refcount", "bpf_refcount"], &[(Refcount, 0), (Refcount, 64)]),
        (&["bpf_list_node", "bpf_rb_node", "bpf_list_node[2]"], &[]),
        (&["foo kptr *", "foo kptr_untrusted *"], &[(KptrRef, 0), (KptrUnref, 64)]),
        (&["foo percpu_kptr *", "volatile foo kptr *"], &[(KptrPercpu, 0), (KptrRef, 64)]),
        (&["const foo kptr *", "foo *"], &[]),
        (&["foo kptr *[2]"], &[(KptrRef, 0), (KptrRef, 8)]),
        (&["inner", "inner[2]"], &[(KptrRef, 0), (KptrRef, 64), (KptrRef, 80)]),
        (
            &["bpf_spin_lock", "bpf_list_head[2] !contains:node:l"],
            &[(SpinLock, 0), (ListHead, 64), (ListHead, 80)],
        ),
        (
            &["bpf_res_spin_lock", "bpf_list_head !contains:node:l"],
            &[(ResSpinLock, 0), (ListHead, 64)],
        ),
    ];
    for (members, fields) in rows {
        assert_eq!(found(members).as_deref(), Some(*fields), "{members:?}");
    }
    assert_eq!(found(&["foo kptr *[11]"]).map(|f| f.len()), Some(11));
}

/// The kernel warns of it.
#[test]
fn a_lock_beside_one_in_a_struct_is_repeated() {
    let of = |members: &[&str]| {
        let (btf, val) = World::new().value(members);
        repeated(&special_fields(&btf, val).expect("fields"))
    };
    assert_eq!(of(&["locked", "bpf_spin_lock"]), Some(FieldKind::SpinLock));
    assert_eq!(of(&["locked", "foo kptr *[2]"]), None);
}

#[test]
fn values_without_any_special_field_after_an_error() {
    for members in [
        ["bpf_spin_lock", "bpf_spin_lock"],
        ["bpf_spin_lock", "bpf_res_spin_lock"],
        ["bpf_task_work", "bpf_task_work"],
        ["bpf_timer", "bpf_timer"],
        ["bpf_timer[2]", "int"],
        ["bpf_refcount[2]", "int"],
        ["locked[2]", "int"],
        ["bpf_timer", "foo user *"],
        ["bpf_timer", "foo foo *"],
        ["bpf_timer", "int foo *"],
        ["bpf_timer", "foo kptr bar *"],
        ["bpf_timer", "foo bar kptr *"],
        ["bpf_timer", "int kptr *"],
        ["bpf_timer", "fwd kptr *"],
        ["bpf_timer", "foo kptr *[12]"],
        ["bpf_list_head !contains:node:l", "int"],
        ["bpf_spin_lock", "bpf_list_head"],
        ["bpf_spin_lock", "bpf_list_head !contains:node:d"],
        ["bpf_spin_lock", "bpf_list_head !contains:node:z"],
        ["bpf_spin_lock", "bpf_list_head !contains:nobody:l"],
        ["bpf_spin_lock", "bpf_list_head !contains:node"],
    ] {
        assert_eq!(found(&members), None, "{members:?}");
    }
}

#[test]
fn list_heads_say_what_they_hold() {
    let (btf, val) = World::new().value(&["bpf_spin_lock", "bpf_list_head !contains:node:l"]);
    let fields = special_fields(&btf, val).unwrap();
    let held = btf.find_by_name_kind("node", Kind::Struct);
    assert_eq!((fields[1].target, fields[1].node_offset), (held, Some(8)));
}

/// Whether Linux 6.18 loads a BTF with such a struct.
#[test]
fn allocated_structs_are_checked_with_the_btf() {
    for (members, fields) in [
        (["bpf_list_node", "bpf_timer"], Some(1)),
        (["bpf_list_node", "foo kptr *"], Some(2)),
        (["bpf_list_node", "const foo kptr *"], Some(1)),
        (["bpf_list_node", "bpf_spin_lock"], Some(2)),
        (["bpf_list_node", "bpf_list_node"], Some(2)),
        (["bpf_timer", "bpf_timer"], None),
        (["foo kptr *", "int"], Some(1)),
        (["int kptr *", "foo kptr *[12]"], None),
        (["fwd kptr *", "foo kptr *[12]"], None),
        (["foo kptr kptr *", "foo kptr *[12]"], None),
        (["foo uptr *", "foo kptr *[12]"], None),
    ] {
        let (btf, val) = World::new().value(&members);
        let metas = struct_metas(&btf).unwrap();
        let kept: Vec<_> = metas.iter().map(|(id, _)| btf.struct_metas().get(id)).collect();
        assert_eq!(kept, metas.iter().map(|(_, fields)| Some(fields)).collect::<Vec<_>>());
        assert_eq!(btf.struct_metas().len(), metas.len());
        let own = metas.iter().find(|m| m.0 == val).map(|m| m.1.len());
        assert_eq!(own, fields, "{members:?}");
    }
    for members in [
        ["bpf_spin_lock", "bpf_spin_lock"],
        ["bpf_spin_lock", "bpf_res_spin_lock"],
        ["bpf_list_node", "bpf_rb_node"],
        ["bpf_list_node", "foo user *"],
        ["bpf_list_node", "int kptr *"],
        ["bpf_list_node", "foo kptr *[12]"],
        ["bpf_list_node", "fwd kptr *"],
        ["foo kptr *", "int kptr *"],
        ["foo kptr *", "fwd kptr *"],
        ["foo kptr *", "foo kptr *[12]"],
        ["bpf_list_node", "bpf_list_node[2]"],
        ["bpf_list_node", "bpf_refcount[2]"],
    ] {
        let (btf, _) = World::new().value(&members);
        assert!(struct_metas(&btf).is_err(), "{members:?}");
        assert!(btf.struct_metas().is_empty());
    }
}

/// Linux 6.18.44 allocates an object with another one per CPU, where special fields are refused.
#[test]
fn the_first_struct_of_a_name_is_special_in_objects() {
    let World { mut b, int } = World::new();
    let again = b.struct_("bpf_list_node", 24, &[MemberDef::new("opaque", int, 0)]);
    let item = b.struct_("item", 32, &[MemberDef::new("l", again, 0)]);
    let btf = b.build().unwrap();
    let node = btf.find_by_name_kind("node", Kind::Struct).unwrap();
    assert!(!btf.struct_metas().contains_key(&item));
    assert!(btf.struct_metas().contains_key(&node));
}

/// Each struct holds the one before twice: to look for a lock is to visit 2^24 members.
#[test]
fn maps_of_too_many_members_are_not_known() {
    let mut b = BtfBuilder::new();
    let int = b.int("int", 4, IntEncoding(1));
    let lock = b.struct_("bpf_spin_lock", 4, &[MemberDef::new("val", int, 0)]);
    let value =
        b.struct_("value", 8, &[MemberDef::new("lock", lock, 0), MemberDef::new("n", int, 32)]);
    let mut nested = int;
    for depth in 0..24 {
        let size = 8u32 << depth;
        let members = [MemberDef::new("a", nested, 0), MemberDef::new("b", nested, size * 4)];
        nested = b.struct_("nested", size, &members);
    }
    let btf = b.build().unwrap();
    let known = special_fields_of(&btf, [value, TypeId(0), value]).unwrap();
    assert_eq!(known.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 1]);
    assert_eq!(special_fields_of(&btf, [value, nested]), None);
}
