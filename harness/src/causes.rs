//! Errors with what caused them: the outermost alone says only that a request or a file failed.

/// The error and its causes, the outermost first.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    all(error).join(": ")
}

/// The same without those that the one before says too, as the layers of a client do.
pub(crate) fn chain_once(error: &dyn std::error::Error) -> String {
    let mut said = all(error);
    said.dedup_by(|inner, outer| outer.contains(inner.as_str()));
    said.join(": ")
}

fn all(error: &dyn std::error::Error) -> Vec<String> {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{said}")]
    struct Layer {
        said: &'static str,
        source: Option<Box<Layer>>,
    }

    #[test]
    fn causes_follow_the_error_and_repeats_can_be_left_out() {
        let layers = ["refused", "connect: refused", "request failed"];
        let error = layers.into_iter().fold(None, |source, said| Some(Box::new(Layer { said, source }))).unwrap();
        assert_eq!(chain(&*error), "request failed: connect: refused: refused");
        assert_eq!(chain_once(&*error), "request failed: connect: refused");
    }
}
