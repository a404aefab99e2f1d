//! Maps as JSON, in the form of `bpftool -j map dump`: entries with `key` and `value` as arrays of
//! bytes (`"0x0a"`), `values` with a `cpu` each for per-CPU maps, and what BTF makes of them under
//! `formatted`. What is written here can be read here.

use super::btf_json;
use serde_json::{Map, Value, json};
use skep::runtime::map::{MapHandle, UpdateFlags};
use skep::runtime::{Errno, ObjectMaps};
use skep::uapi::MapType;

fn bytes(bytes: &[u8]) -> Value {
    bytes.iter().map(|byte| Value::String(format!("0x{byte:02x}"))).collect()
}

/// All entries of a map. What a queue or stack holds is taken out of it; ring buffers and perf
/// event arrays give their records.
pub(super) fn dump(map: &MapHandle) -> Value {
    let kept = match map.map().map_type() {
        MapType::Queue | MapType::Stack => {
            let values = std::iter::from_fn(|| map.pop().ok());
            return values.map(|value| entry(map, None, &value)).collect();
        }
        MapType::Ringbuf => {
            let mut records = Vec::new();
            let _ = map.consume(|record| {
                records.push(json!({ "value": bytes(record) }));
                true
            });
            return Value::Array(records);
        }
        MapType::PerfEventArray => {
            let (samples, _) = map.take_samples().unwrap_or_default();
            let samples = samples.iter();
            return samples
                .map(|sample| json!({ "cpu": sample.cpu, "value": bytes(&sample.data) }))
                .collect();
        }
        MapType::BloomFilter => return Value::Array(Vec::new()),
        _ => map.entries(),
    };
    kept.map(|(key, value)| entry(map, Some(&key), &value)).collect()
}

/// Bytes of one CPU's value.
fn parts<'a>(map: &MapHandle, value: &'a [u8]) -> Option<impl Iterator<Item = &'a [u8]>> {
    let size = map.map().shape().value_size as usize;
    map.map().is_percpu().then(|| {
        value.chunks(size.next_multiple_of(8).max(1)).map(move |part| &part[..size.min(part.len())])
    })
}

fn entry(map: &MapHandle, key: Option<&[u8]>, value: &[u8]) -> Value {
    let mut entry = Map::new();
    let mut formatted = Map::new();
    let btf = map.map().btf();
    let format = |id: fn(&skep::runtime::map::MapBtf) -> u32, bytes: &[u8]| {
        btf.and_then(|types| btf_json::format(&types.btf, id(types), bytes))
    };
    if let Some(key) = key {
        entry.insert("key".into(), bytes(key));
        if let Some(text) = format(|types| types.key_type_id, key) {
            formatted.insert("key".into(), text);
        }
    }
    match parts(map, value) {
        None => {
            entry.insert("value".into(), bytes(value));
            if let Some(text) = format(|types| types.value_type_id, value) {
                formatted.insert("value".into(), text);
            }
        }
        Some(values) => {
            let (mut raw, mut texts) = (Vec::new(), Vec::new());
            for (cpu, value) in values.enumerate() {
                raw.push(json!({ "cpu": cpu, "value": bytes(value) }));
                if let Some(text) = format(|types| types.value_type_id, value) {
                    texts.push(json!({ "cpu": cpu, "value": text }));
                }
            }
            entry.insert("values".into(), Value::Array(raw));
            if !texts.is_empty() {
                formatted.insert("values".into(), Value::Array(texts));
            }
        }
    }
    if !formatted.is_empty() {
        entry.insert("formatted".into(), Value::Object(formatted));
    }
    Value::Object(entry)
}

/// Fills a map as `NAME=@FILE` says; `programs` are the names that slots of prog arrays may have.
///
/// # Errors
///
/// One line: no such map or file, no JSON, an entry that does not fit the map.
pub(super) fn preload(
    text: &str,
    maps: &ObjectMaps,
    programs: &[(&str, u32)],
) -> Result<(), String> {
    let wrong = |what: &dyn std::fmt::Display| format!("--map {text}: {what}");
    let (name, path) = text
        .split_once("=@")
        .ok_or_else(|| wrong(&"NAME=@FILE is wanted, with entries as --dump-maps gives them"))?;
    let map = maps.get(name).map_err(|e| wrong(&e))?;
    let json = std::fs::read_to_string(path).map_err(|e| wrong(&e))?;
    let json: Value = serde_json::from_str(&json).map_err(|e| wrong(&e))?;
    // A dump of all maps has this one under its name.
    let entries = json.get(name).unwrap_or(&json);
    let entries = entries.as_array().ok_or_else(|| wrong(&"no array of entries"))?;
    for (at, entry) in entries.iter().enumerate() {
        let put = put(map, entry, programs);
        put.map_err(|what| wrong(&format!("entry {at}: {what}")))?;
    }
    Ok(())
}

fn put(map: &MapHandle, entry: &Value, programs: &[(&str, u32)]) -> Result<(), String> {
    let shape = map.map().shape();
    let key = match entry.get("key") {
        _ if shape.key_size == 0 => Vec::new(),
        Some(key) => read(key, shape.key_size as usize).map_err(|e| format!("key: {e}"))?,
        None => return Err("no key".into()),
    };
    let value = match (entry.get("value"), entry.get("values")) {
        (Some(Value::String(program)), _) => {
            let found = programs.iter().find(|(name, _)| name == program);
            let (_, id) = found.ok_or_else(|| {
                let names: Vec<&str> = programs.iter().map(|(name, _)| *name).collect();
                format!("no program '{program}' was loaded; there are: {}", names.join(", "))
            })?;
            id.to_ne_bytes().to_vec()
        }
        (Some(value), _) => read_value(map, value)?,
        (None, Some(values)) => read_values(map, values)?,
        (None, None) => return Err("no value".into()),
    };
    map.update(&key, &value, UpdateFlags::Any).map_err(|errno: Errno| errno.to_string())
}

/// One value; all CPUs' alike for a per-CPU map.
fn read_value(map: &MapHandle, value: &Value) -> Result<Vec<u8>, String> {
    let size = map.map().shape().value_size as usize;
    let mut one = read(value, size).map_err(|e| format!("value: {e}"))?;
    if !map.map().is_percpu() {
        return Ok(one);
    }
    one.resize(size.next_multiple_of(8), 0);
    Ok(one.repeat(map.value_len() / one.len().max(1)))
}

/// `[{"cpu": 0, "value": ...}, ...]`; CPUs that are not there get zeros.
fn read_values(map: &MapHandle, values: &Value) -> Result<Vec<u8>, String> {
    let size = map.map().shape().value_size as usize;
    let stride = size.next_multiple_of(8);
    let mut all = vec![0; map.value_len()];
    for value in values.as_array().ok_or("values: no array")? {
        let cpu = value.get("cpu").and_then(Value::as_u64).ok_or("values: no cpu")?;
        let bytes = value.get("value").ok_or("values: no value")?;
        let bytes = read(bytes, size).map_err(|e| format!("value: {e}"))?;
        let from = usize::try_from(cpu).ok().and_then(|cpu| cpu.checked_mul(stride));
        let place = from.and_then(|from| all.get_mut(from..from.checked_add(size)?));
        place.ok_or_else(|| format!("values: there is no CPU {cpu}"))?.copy_from_slice(&bytes);
    }
    Ok(all)
}

/// An array of bytes (`"0x0a"` or 10), or a number in the machine's order.
fn read(value: &Value, size: usize) -> Result<Vec<u8>, String> {
    let bytes = match value {
        Value::Array(bytes) => bytes.iter().map(byte).collect::<Option<Vec<u8>>>(),
        Value::Number(number) => {
            let number = number.as_u64().or_else(|| number.as_i64().map(|n| n as u64));
            let mut bytes = number.unwrap_or_default().to_le_bytes().to_vec();
            let fill = if value.as_i64().is_some_and(|n| n < 0) { 0xff } else { 0 };
            let fits = bytes.get(size..).is_none_or(|rest| rest.iter().all(|b| *b == fill));
            bytes.resize(size, fill);
            (number.is_some() && fits).then_some(bytes)
        }
        _ => None,
    };
    let bytes = bytes.ok_or_else(|| format!("{value} is neither bytes nor a number that fits"))?;
    if bytes.len() != size {
        return Err(format!("{} bytes, the map has {size}", bytes.len()));
    }
    Ok(bytes)
}

fn byte(value: &Value) -> Option<u8> {
    match value {
        Value::String(text) => u8::from_str_radix(text.strip_prefix("0x")?, 16).ok(),
        number => u8::try_from(number.as_u64()?).ok(),
    }
}
