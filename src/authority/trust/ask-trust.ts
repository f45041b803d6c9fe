import { messageOf } from '../../core/errors.ts'
import type { Interact, InteractionResponse } from '../../core/interaction.ts'
import { Suspended } from '../../core/tool-context.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { type GateAnswer, noneAccepted, type PendingItem } from './item-gate.ts'
import { describeNames, type ProjectNames } from './project-names.ts'

interface Asking {
  readonly interact?: Interact
  readonly signal?: AbortSignal
}

/** What somebody said about a project; without a choice, why there is none. */
type ProjectAnswer =
  | { readonly choice: 'trust' | 'decline' | 'once' }
  | { readonly choice?: never; readonly why: string }

/** Asks whether a project is trusted, and shows the names of what it brings. Only the three words count as answers. */
export async function askAboutProject(root: string, names: ProjectNames, asking: Asking): Promise<ProjectAnswer> {
  const summary = `This project brings:\n${describeNames(names)}\nNo file of it was opened. What you trust can run as you and steer the model.`
  const answer = await ask(root, summary, 'project', [], asking)
  if (answer.status === 'timeout') return { why: 'nobody answered in time' }
  if (answer.status !== 'accepted') return { why: answer.reason === '' ? 'nobody decided about it' : answer.reason }
  const { value } = answer
  if (value === 'trust' || value === 'decline' || value === 'once') return { choice: value }
  return { why: 'the answer was none of trust, decline and once' }
}

/** Asks once about several items: `trust` and `once` are for all of them, a list of ids is for those. */
export async function askAboutItems(
  about: 'changed' | 'mcp',
  root: string,
  waiting: readonly PendingItem[],
  asking: Asking,
): Promise<GateAnswer> {
  const lines = waiting.map(({ shown, why }) => `- ${why}: ${shown}`)
  const summary = `${openings[about]}\n${lines.join('\n')}\nWhat you do not trust is left out; the rest works.`
  const ids = waiting.map(({ id }) => id)
  const answer = await ask(root, summary, about, ids, asking)
  if (answer.status !== 'accepted') return noneAccepted
  const { value } = answer
  if (value === 'trust' || value === 'once') return { ids: new Set(ids), isKept: value === 'trust' }
  return Array.isArray(value) ? { ids: new Set(value), isKept: true } : noneAccepted
}

const openings = {
  changed: 'You trust this project, but not yet these things as they are now:',
  mcp: 'This project wants to start or call these MCP servers:',
}

const cannotAsk = { status: 'rejected', reason: 'nobody is there to be asked' } as const

/** Whoever cannot be asked gives no answer; only a stop goes on upwards. */
async function ask(
  root: string,
  summary: string,
  about: 'project' | 'changed' | 'mcp',
  items: readonly string[],
  { interact, signal = new AbortController().signal }: Asking,
): Promise<InteractionResponse> {
  if (!interact) return cannotAsk
  try {
    const payload = { kind: 'trustProject', path: fullyVisible(root), summary, about, items }
    return await interact({ kind: 'trustProject', payload }, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof Suspended) return cannotAsk // a project is not left open until somebody comes
    return { status: 'rejected', reason: messageOf(error) }
  }
}
