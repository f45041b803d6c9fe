import type { ChatNotice, ChatState, ModelChoice } from '../chat/chat.ts'
import { oneLine } from '../core/text.ts'
import { visibleName, visibleText } from '../platform/visible-text.ts'
import type { SessionView } from '../view/session-view.ts'
import type { SessionUpdate } from './protocol.ts'
import { settingsState } from './session-settings.ts'

/**
 * Turns states of one chat into updates about all that is no row: the plan, settings, usage and the title. Each is sent when
 * it differs from what was sent last.
 */
export class StateUpdates {
  readonly #sent = new Map<string, string>()
  #seen: readonly unknown[] = []

  next(state: ChatState, { models, title }: StateContext): SessionUpdate[] {
    const { view, settings } = state
    // Each piece of a text comes here, and the list of models is long.
    const now = [view.head, view.todos, view.usage, settings, models, title]
    if (now.every((one, i) => one === this.#seen[i])) return []
    this.#seen = now
    const { modes, configOptions } = settingsState(settings, models)
    const updates: (SessionUpdate | undefined)[] = [
      planUpdate(view),
      { sessionUpdate: 'current_mode_update', currentModeId: modes.currentModeId },
      { sessionUpdate: 'config_option_update', configOptions },
      usageUpdate(state),
      title === '' ? undefined : { sessionUpdate: 'session_info_update', title },
    ]
    return updates.filter((update) => update !== undefined).filter((update) => this.#isNew(update))
  }

  /** The client has this already. */
  skip(update: SessionUpdate): void {
    this.#isNew(update)
  }

  #isNew(update: SessionUpdate): boolean {
    const text = JSON.stringify(update)
    if (this.#sent.get(update.sessionUpdate) === text) return false
    this.#sent.set(update.sessionUpdate, text)
    return true
  }
}

interface StateContext {
  readonly models: readonly ModelChoice[]
  readonly title: string
}

/** The todo list of the agent; as long as it has none, the steps of the last plan that it presented. */
function planUpdate({ todos, rows }: SessionView): SessionUpdate | undefined {
  if (todos.length > 0) {
    const entries = todos.map(({ content, status }) => ({ content: stepOf(content), priority, status }))
    return { sessionUpdate: 'plan', entries }
  }
  for (let at = rows.length - 1; at >= 0 && at > rows.length - mostSearched; at--) {
    const row = rows.at(at)
    if (row?.kind !== 'call' || row.name !== 'present_plan' || row.state === 'streaming') continue
    const steps = stepsIn(String(row.input.plan ?? ''))
    if (steps.length === 0) return undefined
    const entries = steps.map((content) => ({ content: stepOf(content), priority, status: 'pending' as const }))
    return { sessionUpdate: 'plan', entries }
  }
  return undefined
}

const priority = 'medium' as const
const mostSearched = 50

const stepOf = (text: string): string => oneLine(visibleText(text), 500)

/** The items of the lists of a plan, those within items excluded. */
function stepsIn(plan: string): string[] {
  const items = [...plan.matchAll(/^(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(\S[^\n]*)$/gm)]
  return items.map(([, text = '']) => text)
}

/** What the last reply read and wrote is the size of the conversation. */
function usageUpdate({ view, settings }: ChatState): SessionUpdate | undefined {
  const { last, cost } = view.usage
  const { contextWindow: size } = settings.model
  if (!last || size === undefined) return undefined
  const used = last.input + last.output + (last.cacheRead ?? 0) + (last.cacheCreation ?? 0)
  return { sessionUpdate: 'usage_update', used, size, ...(cost !== undefined && { cost: { amount: cost, currency } }) }
}

const currency = 'USD'

/** What is worth telling and is in no log. */
export function noticeUpdate({ kind, text }: Pick<ChatNotice, 'kind' | 'text'>): SessionUpdate {
  const [first = '', ...more] = visibleText(text).split('\n')
  return {
    sessionUpdate: 'notice',
    severity: kind === 'failure' ? 'error' : kind,
    title: visibleName(first),
    ...(more.length > 0 && { description: more.join('\n') }),
  }
}
