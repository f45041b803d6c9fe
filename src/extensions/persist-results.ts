import { resolvePosix } from '../core/execution.ts'
import type { Extension } from '../core/run.ts'
import { touchedFileOf } from '../core/tool.ts'
import { toolOutputByteLength, toolResultToText } from '../core/tool-output.ts'

const previewBytes = 2048

/**
 * `behavior.persistThreshold` and `persistDir`: a result that is too big goes to a file, and a stub with the beginning
 * of it takes its place, in the session too, so that the prefix a provider caches stays the same.
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
        // What was kept there must be readable, or keeping it was of no use.
        const read = touchedFileOf(ctx.details)
        if (read && resolvePosix(handle.cwd, read.path).startsWith(`${resolvePosix(handle.cwd, persistDir)}/`)) return
        const text = toolResultToText(ctx.result)
        const path = `${persistDir.replace(/[/\\]$/, '')}/${fileName(run.id, ctx.callId)}`
        try {
          await execution.writeFile(handle, path, text)
        } catch (error) {
          // The call has done its work: a full disk must not take its result away.
          return run.hooks.tell('hook:error', { hook: 'persist-results', error })
        }
        ctx.result = [
          `<persisted-output tool="${attribute(ctx.name)}" bytes="${bytes}" path="${attribute(path)}">`,
          firstBytes(text, previewBytes),
          '</persisted-output>',
        ].join('\n')
      })
    },
  }
}

/** Call ids come from a service and may hold anything; the hash keeps apart what looks alike once it is made harmless. */
function fileName(runId: string, callId: string): string {
  const harmless = `${runId}-${callId}`.replace(/[^\w-]/g, '_').slice(0, 100)
  return `${harmless}-${hashOf(callId)}.txt`
}

/** FNV-1a: short, and good enough for names. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return (hash >>> 0).toString(36)
}

const attribute = (text: string): string => text.replace(/[&"<>]/g, (char) => `&#${char.charCodeAt(0)};`)

/** Never cuts through a character. */
function firstBytes(text: string, most: number): string {
  const head = text.slice(0, most)
  const bytes = new TextEncoder().encode(head).subarray(0, most)
  return new TextDecoder().decode(bytes).replace(/\uFFFD+$/, '')
}
