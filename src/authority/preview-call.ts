import { messageOf } from '../core/errors.ts'
import type { HookContexts } from '../core/hook-map.ts'
import type { Run } from '../core/run.ts'
import type { ToolDef, ToolPreview } from '../core/tool.ts'
import { copyJson } from '../core/turn.ts'
import type { Redactor } from '../platform/redact.ts'
import { harmless, shownPreview } from './interaction/shown-preview.ts'
import type { JudgedCall } from './judged-call.ts'
import { isForeign } from './prepare-call.ts'

/** What is known of a call before a person is asked about it. */
export interface Previewed {
  /** What it would change. */
  readonly preview?: ToolPreview
  /** Why it cannot work, for the person. */
  readonly wouldFail?: string
  /** The same in the words of the tool, for the model. */
  readonly error?: string
}

/** Asks a tool what its call would change. Code of a project or a server is not run before it is allowed. */
export async function previewCall(
  tool: ToolDef,
  { input, origin }: JudgedCall,
  { host: { execution, handle }, cancellation: stop }: Run,
  redactor: Redactor | undefined,
): Promise<Previewed> {
  if (!tool.preview || !execution || !handle || isForeign(origin)) return {}
  try {
    const preview = await tool.preview(copyJson(input), { execution, handle, signal: stop.signal })
    return preview ? { preview: shownPreview(preview, redactor) } : {}
  } catch (error) {
    if (stop.isCancelled) throw error
    const message = messageOf(error)
    return { wouldFail: harmless(message, redactor), error: message }
  }
}

/** Asks the handlers of `approval:before` whether the call can work; the reason if one of them says that it cannot. */
export async function refusalByHooks(
  ctx: HookContexts['tool:gate'],
  tool: ToolDef,
  { hooks }: Run,
): Promise<string | undefined> {
  if (!hooks.has('approval:before')) return undefined
  const { turnId, callId, name, displayName, input, parentCallId } = ctx
  const about = { turnId, callId, name, displayName, input, tool, ...(parentCallId !== undefined && { parentCallId }) }
  const asked: HookContexts['approval:before'] = { ...about, block: false, reason: '' }
  await hooks.ask('approval:before', asked)
  return asked.block ? asked.reason : undefined
}

/**
 * The call as if it only read the files that it is about. An error of a preview tells what is in them, so a model gets it
 * unasked only where such a call would not be asked about.
 */
export function asReadOnlyCall(call: JudgedCall): JudgedCall {
  const files = call.effects.filter(({ effect }) => effect === 'fs.read' || effect === 'fs.write')
  const effects = files.map((fact) => ({ ...fact, effect: 'fs.read' as const }))
  // By no name: a rule that asks about the tool is about what it does, not about looking.
  return { ...call, tool: '', key: '', gated: true, effects: effects.length > 0 ? effects : [{ effect: 'unknown' }] }
}
