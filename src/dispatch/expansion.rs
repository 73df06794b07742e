//! What a schema comes to once its references are followed, which is what checking it costs.
//!
//! Two references to a definition that has two references double at every step: a few hundred bytes can take hours to check
//! against. References back to a definition that is being followed double once for each level of the arguments.

use std::collections::HashMap;

use serde_json::Value;

/// The keywords that lead to another place of the schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// A schema's definitions, as far as references lead to them; the first is the whole schema.
#[derive(Debug)]
pub(super) struct Expansion {
    places: Vec<Place>,
}

#[derive(Debug, Default)]
struct Place {
    /// Values in its text.
    own: u64,
    /// Levels of its text.
    height: u64,
    /// The places that it leads to, each as often as it does, and on which level.
    references: Vec<(usize, u64)>,
    /// It leads back to itself.
    recurs: bool,
}

impl Expansion {
    pub(super) fn of(schema: &Value) -> Self {
        let mut known = HashMap::from([(String::new(), 0)]);
        let mut order = vec![schema];
        let mut places = Vec::new();
        while let Some(&text) = order.get(places.len()) {
            let mut place = Place::default();
            let mut waiting = vec![(text, 1)];
            while let Some((value, level)) = waiting.pop() {
                place.own += 1;
                place.height = place.height.max(level);
                match value {
                    Value::Array(items) => waiting.extend(items.iter().map(|item| (item, level + 1))),
                    Value::Object(members) => {
                        waiting.extend(members.values().map(|member| (member, level + 1)));
                        for reference in REFERENCES.iter().filter_map(|name| members.get(*name)?.as_str()) {
                            // A name instead of a pointer counts as the whole schema, which holds what it names.
                            let pointer = reference.strip_prefix('#').unwrap_or_default();
                            let (pointer, target) =
                                schema.pointer(pointer).map_or(("", schema), |found| (pointer, found));
                            let next = known.len();
                            let index = *known.entry(pointer.to_owned()).or_insert(next);
                            if index == next {
                                order.push(target);
                            }
                            place.references.push((index, level));
                        }
                    }
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
                }
            }
            places.push(place);
        }
        let mut expansion = Self { places };
        for index in 0..expansion.places.len() {
            expansion.places[index].recurs = expansion.leads_to(index);
        }
        expansion
    }

    fn leads_to(&self, goal: usize) -> bool {
        let mut seen = vec![false; self.places.len()];
        let mut waiting = vec![goal];
        while let Some(index) = waiting.pop() {
            for &(next, _) in &self.places[index].references {
                if next == goal {
                    return true;
                }
                if !std::mem::replace(&mut seen[next], true) {
                    waiting.push(next);
                }
            }
        }
        false
    }

    /// How many values and how many levels it has, where what leads back to itself is followed `depth` times over.
    fn size(&self, depth: usize) -> (u64, u64) {
        let mut sizes: Vec<Option<(u64, u64)>> = vec![None; self.places.len()];
        for _ in 0..=depth {
            let before = std::mem::replace(&mut sizes, vec![None; self.places.len()]);
            for index in 0..self.places.len() {
                self.measure(index, &before, &mut sizes);
            }
        }
        sizes[0].unwrap_or_default()
    }

    /// Fills `sizes` for a place and all that it leads to. `before`: the sizes with one repetition less.
    fn measure(&self, start: usize, before: &[Option<(u64, u64)>], sizes: &mut [Option<(u64, u64)>]) {
        let mut waiting = vec![start];
        while let Some(&index) = waiting.last() {
            let place = &self.places[index];
            let mut size = (place.own, place.height);
            let unmeasured = waiting.len();
            for &(next, level) in &place.references {
                let target =
                    if self.places[next].recurs { Some(before[next].unwrap_or_default()) } else { sizes[next] };
                match target {
                    Some((values, levels)) => {
                        size = (size.0.saturating_add(values), size.1.max(level.saturating_add(levels)));
                    }
                    // It does not lead back here, so this ends.
                    None => waiting.push(next),
                }
            }
            if waiting.len() == unmeasured {
                sizes[index] = Some(size);
                waiting.pop();
            }
        }
    }

    /// Values and levels with every reference followed once.
    pub(super) fn once(&self) -> (u64, u64) {
        self.size(0)
    }

    /// The depth of arguments, up to `max_depth`, down to which checking them follows at most `max_values` values.
    pub(super) fn depth_within(&self, max_values: u64, max_depth: usize) -> usize {
        let recurs = self.places.iter().any(|place| place.recurs);
        if !recurs {
            return if self.once().0 <= max_values { max_depth } else { 0 };
        }
        (1..=max_depth).take_while(|&depth| self.size(depth).0 <= max_values).last().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Expansion;

    #[test]
    fn a_definition_counts_as_often_as_it_is_referred_to() {
        let once = json!({"$defs": {"a": {"type": "string"}}, "properties": {"x": {"$ref": "#/$defs/a"}}});
        let twice = json!({"$defs": {"a": {"type": "string"}}, "properties": {"x": {"$ref": "#/$defs/a"}, "y": {"$ref": "#/$defs/a"}}});
        let (once, twice) = (Expansion::of(&once).once().0, Expansion::of(&twice).once().0);
        assert_eq!(twice - once, 4, "one more reference of two values, to a definition of two");
    }

    #[test]
    fn doubling_is_found_without_being_carried_out() {
        let mut definitions = serde_json::Map::new();
        for index in 0..100 {
            let next = json!({"$ref": format!("#/$defs/a{}", index + 1)});
            definitions.insert(format!("a{index}"), json!({"anyOf": [next, next]}));
        }
        definitions.insert("a100".to_owned(), json!(false));
        let schema = json!({"$ref": "#/$defs/a0", "$defs": definitions});
        let (values, levels) = Expansion::of(&schema).once();
        assert_eq!(values, u64::MAX);
        assert!(levels > 300, "{levels}");
    }

    #[test]
    fn recursion_is_followed_by_the_depth_of_the_arguments() {
        let chain = json!({"properties": {"next": {"$ref": "#"}}});
        assert_eq!(Expansion::of(&chain).depth_within(1_000, 100), 100);
        let tree = json!({"properties": {"next": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
        let depth = Expansion::of(&tree).depth_within(1_000, 100);
        assert!((4..10).contains(&depth), "{depth}");
        assert_eq!(Expansion::of(&json!({"type": "object"})).depth_within(1_000, 100), 100);
    }
}
