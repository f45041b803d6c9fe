import { toolCallsOf } from '../../core/turn.ts'
import type { ChildEvent } from '../../events/events.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { callTitle } from './describe-call.ts'
import type { Paint } from './paint.ts'
import { textTail } from './phase-view.ts'

interface Child {
  readonly name: string
  readonly depth: number
  activity: string
  /** The end of its text. */
  text: string
}

/** A live line for each child agent, with its current activity. */
export function createChildrenView(paint: Paint, cwd: string) {
  const children = new Map<string, Child>()
  let count = 0
  const childOf = ({ id, depth }: ChildEvent['child']): Child => {
    const known = children.get(id)
    if (known) return known
    const child = { name: `agent ${++count}`, depth, activity: 'begins', text: '' }
    children.set(id, child)
    return child
  }
  return {
    show({ child: info, event }: ChildEvent): void {
      const child = childOf(info)
      if (!event.durable) {
        if (event.type === 'turn_started' || event.type === 'stream_void') child.text = ''
        if (event.type === 'tool_start') child.activity = visibleName(event.displayName)
        if (event.type !== 'text' && event.type !== 'thinking') return
        child.text = (child.text + event.delta).slice(-mostText)
        child.activity = ''
        return
      }
      const { entry } = event
      if (entry.type === 'run_ended') children.delete(info.id)
      if (entry.type !== 'turn' || entry.turn.role !== 'assistant') return
      const last = toolCallsOf(entry.turn).at(-1)
      if (last) child.activity = `${visibleName(last.name)} ${callTitle(last.input, cwd)}`
    },
    live: (spinner: string): string[] =>
      [...children.values()].map(
        ({ name, depth, activity, text }) =>
          `${'  '.repeat(Math.min(depth, 4))}${paint.cyan(spinner)} ${name} ${paint.dim(activity || textTail(text))}`,
      ),
    get isBusy(): boolean {
      return children.size > 0
    },
    end: (): void => children.clear(),
  }
}

const mostText = 400
