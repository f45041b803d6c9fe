import { resolvePosix } from '../core/execution.ts'
import type { Extension } from '../core/run.ts'
import { headBytes } from '../core/text.ts'
import { touchedFileOf } from '../core/tool.ts'
import { toolOutputByteLength, toolResultToText } from '../core/tool-output.ts'

const previewBytes = 2048

/**
 * `behavior.persistThreshold` and `persistDir`: a large result is written to a file and replaced by a stub with its
 * beginning. The session gets the stub too, so that the provider's cached prefix stays valid.
 */
export function persistResults(): Extension {
  return {
    name: 'persist-results',
    start(run, hooks) {
      const { persistThreshold, persistDir, persistExcludeTools } = run.settings.behavior
      const { execution, handle } = run.host
      if (persistThreshold === undefined || !persistDir || !execution?.capabilities.filesystem || !handle) return
      hooks.hook('tool:transform', async (ctx) => {
        const bytes = toolOutputByteLength(ctx.result)
        if (bytes <= persistThreshold || persistExcludeTools.includes(ctx.name)) return
        // Reading such a file must not create another one.
        const read = touchedFileOf(ctx.details)
        if (read && resolvePosix(handle.cwd, read.path).startsWith(`${resolvePosix(handle.cwd, persistDir)}/`)) return
        const text = toolResultToText(ctx.result)
        const path = `${persistDir.replace(/[/\\]$/, '')}/${fileName(run.id, ctx.callId)}`
        try {
          await execution.writeFile(handle, path, text)
        } catch (error) {
          // The call succeeded: a full disk must not lose its result.
          return run.hooks.tell('hook:error', { hook: 'persist-results', error })
        }
        ctx.result = [
          `<persisted-output tool="${attribute(ctx.name)}" bytes="${bytes}" path="${attribute(path)}">`,
          headBytes(text, previewBytes),
          '</persisted-output>',
        ].join('\n')
      })
    },
  }
}

/** Call ids come from a service and may contain anything. The hash distinguishes ids that are equal after sanitising. */
function fileName(runId: string, callId: string): string {
  const sanitised = `${runId}-${callId}`.replace(/[^\w-]/g, '_').slice(0, 100)
  return `${sanitised}-${hashOf(callId)}.txt`
}

/** FNV-1a: short, and sufficient for names. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return (hash >>> 0).toString(36)
}

const attribute = (text: string): string => text.replace(/[&"<>]/g, (char) => `&#${char.charCodeAt(0)};`)
