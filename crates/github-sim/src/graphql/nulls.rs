//! What becomes of a field that fails: null where null is allowed, and otherwise its parent fails in its place, as the
//! GraphQL specification has it. The library would leave the field out.

use std::collections::HashSet;
use std::sync::Arc;

use async_graphql::async_trait::async_trait;
use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextExecute, NextResolve, ResolveInfo};
use async_graphql::{Response, ServerError, ServerResult, Value};
use parking_lot::Mutex;

pub struct Nulls;

impl ExtensionFactory for Nulls {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Failed::default())
    }
}

#[derive(Default)]
struct Failed(Mutex<Fields>);

#[derive(Default)]
struct Fields {
    errors: Vec<ServerError>,
    /// The paths of objects and lists of which a member failed that may not be null. The whole answer has the path "".
    broken: HashSet<String>,
}

#[async_trait]
impl Extension for Failed {
    async fn execute(
        &self,
        ctx: &ExtensionContext<'_>,
        operation_name: Option<&str>,
        next: NextExecute<'_>,
    ) -> Response {
        let mut response = next.run(ctx, operation_name).await;
        let mut fields = self.0.lock();
        response.errors.append(&mut fields.errors);
        if fields.broken.contains("") {
            response.data = Value::Null;
        }
        response
    }

    async fn resolve(
        &self,
        ctx: &ExtensionContext<'_>,
        info: ResolveInfo<'_>,
        next: NextResolve<'_>,
    ) -> ServerResult<Option<Value>> {
        let (path, nullable) = (info.path_node, !info.return_type.ends_with('!'));
        let result = next.run(ctx, info).await;
        let mut fields = self.0.lock();
        match result {
            Ok(value) if fields.broken.is_empty() || !fields.broken.contains(&path.to_string()) => return Ok(value),
            Ok(_) => {}
            Err(error) => fields.errors.push(error),
        }
        if !nullable {
            let parent = path.parent.map(ToString::to_string).unwrap_or_default();
            fields.broken.insert(parent);
        }
        Ok(Some(Value::Null))
    }
}
