import type { Extension } from '../core/run.ts'
import { withoutImages } from '../core/tool-output.ts'

/** Replaces images in tool results by markers for models without vision. `withoutVision` does so for older messages. */
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
