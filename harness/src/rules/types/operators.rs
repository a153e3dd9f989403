//! What operators take, and what they make of it.

use cel::common::ast::{Expr, IdedExpr, LiteralValue};

use super::{Type, Types, said};

impl Types<'_> {
    /// The type of what an operator makes of its operands.
    pub(super) fn operator(&mut self, name: &str, nodes: &[IdedExpr], types: &[Type]) -> Type {
        match (name, types) {
            ("_&&_" | "_||_" | "!_" | "@not_strictly_false", types) => {
                for (node, of) in nodes.iter().zip(types) {
                    if !matches!(of, Type::Any | Type::Bool) {
                        let at = self.at(node);
                        self.wrong(at, "this is neither true nor false".to_owned(), said(node, of));
                    }
                }
                Type::Bool
            }
            ("_==_" | "_!=_", [one, other]) => {
                if !one.is_like(other) {
                    self.apart(nodes, one, other, "never the same");
                }
                Type::Bool
            }
            ("_<_" | "_<=_" | "_>_" | "_>=_", [one, other]) => {
                let ordered = |of: &Type| matches!(of, Type::Any | Type::Text | Type::Bool) || of.is_number();
                if !(ordered(one) && ordered(other) && one.is_like(other)) {
                    self.apart(nodes, one, other, "neither is greater");
                }
                Type::Bool
            }
            ("@in", [one, other]) => {
                let of = match other {
                    Type::List(of) => of.is_like(one),
                    Type::Map(_) | Type::Object(_) => Type::Text.is_like(one),
                    Type::Any => true,
                    _ => false,
                };
                if !of {
                    self.apart(nodes, one, other, "it is never in there");
                }
                Type::Bool
            }
            ("_?_:_", [condition, one, other]) => {
                if !matches!(condition, Type::Any | Type::Bool) {
                    let at = self.at(&nodes[0]);
                    self.wrong(at, "this is neither true nor false".to_owned(), said(&nodes[0], condition));
                }
                one.clone().or(other.clone())
            }
            ("_[_]" | "_[?_]", [of, key]) => self.index(nodes, of, key),
            ("-_", [of]) => self.arithmetic(nodes, of, of),
            ("_+_", [Type::Text, Type::Text]) => Type::Text,
            ("_+_", [one @ Type::List(_), other @ Type::List(_)]) => one.clone().or(other.clone()),
            ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [one, other]) => self.arithmetic(nodes, one, other),
            _ => Type::Any,
        }
    }

    fn arithmetic(&mut self, nodes: &[IdedExpr], one: &Type, other: &Type) -> Type {
        match (one, other) {
            (Type::Any, _) | (_, Type::Any) => Type::Any,
            (one, other) if one.is_number() && one == other => one.clone(),
            (one, other) => {
                self.apart(nodes, one, other, "there is no such sum, difference, product or quotient");
                Type::Any
            }
        }
    }

    fn index(&mut self, nodes: &[IdedExpr], of: &Type, key: &Type) -> Type {
        match (of, key) {
            (Type::Any, _) => Type::Any,
            (Type::List(of), Type::Any | Type::Int | Type::Uint) => (**of).clone(),
            (Type::Map(of), Type::Any | Type::Text) => (**of).clone(),
            (Type::Object(_), Type::Text) => match &nodes[1].expr {
                Expr::Literal(LiteralValue::String(field)) => self.field(of, field.inner(), &nodes[0]),
                _ => Type::Any,
            },
            (Type::Object(_), Type::Any) => Type::Any,
            (of, key) => {
                let at = self.at(&nodes[0]);
                self.wrong(at, format!("{key} names nothing in {of}"), said(&nodes[0], of));
                Type::Any
            }
        }
    }

    fn apart(&mut self, nodes: &[IdedExpr], one: &Type, other: &Type, why: &str) {
        let at = nodes.first().map_or(0..self.text.len(), |node| self.at(node));
        self.wrong(at, format!("{one} and {other} cannot be combined"), why.to_owned());
    }
}
