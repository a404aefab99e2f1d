//! Creating maps: which kind each type is.

use super::array::Array;
use super::bloom_filter::BloomFilter;
use super::cgroup_storage::CgroupStorage;
use super::device_map::DeviceMap;
use super::hash::Hash;
use super::kind::{MapKind, shape};
use super::lpm_trie::LpmTrie;
use super::map_in_map::{ArrayOfMaps, HashOfMaps};
use super::percpu_array::PercpuArray;
use super::perf_event_array::PerfEventArray;
use super::prog_array::ProgArray;
use super::queue_stack::QueueStack;
use super::ringbuf::Ringbuf;
use super::setup::Setup;
use super::stack_trace::StackTrace;
use super::user_ringbuf::UserRingbuf;
use super::value::ValueLayout;
use super::verified_as::Template;
use super::{Kind, Map, MapBtf};
use crate::{Errno, Error};
use skep_program::MapDef;
use skep_uapi::{MapType, map_rule};

impl Map {
    /// Creates a map as BPF_MAP_CREATE would.
    ///
    /// # Errors
    ///
    /// The kernel would reject the definition; the kind is not modelled; no memory.
    pub(crate) fn create(def: &MapDef, id: u32, setup: &Setup) -> Result<Map, Error> {
        let made = Map::create_kind(def, setup);
        let kind = made.map_err(|e| e.context(format!("map '{}' ({})", def.name, def.map_type)))?;
        let btf = setup.btf.as_ref().map(|btf| MapBtf {
            btf: btf.clone(),
            key_type_id: def.btf_key_type_id,
            value_type_id: def.btf_value_type_id,
        });
        let (shape, map_type) = (shape(def), def.map_type);
        let name = def.name.clone();
        let template = Template::of((def, setup.btf.as_ref()));
        Ok(Map { shape, map_type, name, id, btf, frozen: def.frozen, template, kind })
    }

    fn create_kind(def: &MapDef, setup: &Setup) -> Result<Kind, Error> {
        use MapType as T;
        let resources = &setup.resources;
        let shape = shape(def);
        let rule = map_rule(def.map_type)
            .ok_or_else(|| Error::unsupported(format!("maps of type {}", def.map_type)))?;
        rule.check(&shape).map_err(|why| {
            let sizes = format!(
                "key {}, value {}, entries {}, flags {:#x}",
                shape.key_size,
                shape.value_size,
                shape.max_entries,
                shape.flags.bits()
            );
            Error::input(format!("{}: {why:?} not allowed ({sizes})", Errno::EINVAL))
                .because(Errno::EINVAL)
        })?;
        let layout = ValueLayout::of(def, setup.btf.as_deref(), &setup.registry.objects)?;
        if layout.owns() && !matches!(def.map_type, T::Array | T::Hash | T::LruHash) {
            return Err(Error::unsupported(format!("objects in maps of type {}", def.map_type)));
        }
        let kind = match def.map_type {
            T::Hash | T::LruHash | T::PercpuHash | T::LruPercpuHash => {
                Kind::Hash(Box::new(Hash::new(def.map_type, &shape, layout, resources)?))
            }
            T::ProgArray => {
                let progs = &setup.registry.progs;
                Kind::ProgArray(Box::new(ProgArray::new(&shape, progs, resources)?))
            }
            T::Ringbuf => Kind::Ringbuf(Box::new(Ringbuf::new(shape.max_entries, resources)?)),
            T::UserRingbuf => {
                Kind::UserRingbuf(Box::new(UserRingbuf::new(shape.max_entries, resources)?))
            }
            T::PerfEventArray => {
                Kind::PerfEventArray(Box::new(PerfEventArray::new(&shape, resources)))
            }
            _ => Kind::Other(create_other(def, layout, setup)?),
        };
        Ok(kind)
    }
}

/// Creates a map of a kind that has the common operations only.
fn create_other(
    def: &MapDef,
    layout: ValueLayout,
    setup: &Setup,
) -> Result<Box<dyn MapKind>, Error> {
    use MapType as T;
    let (shape, resources) = (shape(def), &setup.resources);
    Ok(match def.map_type {
        T::Array => Box::new(Array::new(&shape, layout, resources)?),
        T::PercpuArray => Box::new(PercpuArray::new(&shape, layout, resources)?),
        T::LpmTrie => Box::new(LpmTrie::new(&shape, layout, resources)?),
        T::Queue | T::Stack => {
            let newest_first = def.map_type == T::Stack;
            Box::new(QueueStack::new(&shape, newest_first, layout, resources)?)
        }
        T::BloomFilter => Box::new(BloomFilter::new(def, resources)?),
        T::ArrayOfMaps => Box::new(ArrayOfMaps::new(def, setup)?),
        T::HashOfMaps => Box::new(HashOfMaps::new(def, setup)?),
        T::Devmap | T::DevmapHash | T::Cpumap | T::Xskmap => {
            Box::new(DeviceMap::new(def.map_type, &shape, resources)?)
        }
        T::CgroupStorage | T::PercpuCgroupStorage => {
            let percpu = def.map_type == T::PercpuCgroupStorage;
            Box::new(CgroupStorage::new(&shape, percpu, layout, resources)?)
        }
        T::StackTrace => Box::new(StackTrace::new(&shape)),
        other => return Err(Error::unsupported(format!("maps of type {other}"))),
    })
}
