import type { Extension } from '../core/run.ts'
import { withoutImages } from '../core/tool-output.ts'

/** A model that cannot see gets a marker in place of each image a tool returns. Old ones: see the provider decorator. */
export function stripImages(): Extension {
  return {
    name: 'strip-images',
    start(run, hooks) {
      if (run.provider.meta.capabilities?.vision !== false) return
      hooks.hook('tool:transform', (ctx) => {
        ctx.result = withoutImages(ctx.result)
      })
    },
  }
}
