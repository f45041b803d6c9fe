import { toolCallsOf } from '../../core/turn.ts'
import type { ChildEvent } from '../../events/events.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { callTitle } from './describe-call.ts'
import type { Paint } from './paint.ts'
import { textTail } from './phase-view.ts'

/** The agents that this one spawned: a live line each, with what it does. Nothing of them stays on the screen. */
interface ChildrenView {
  show(event: ChildEvent): void
  live(spinner: string): string[]
  readonly isBusy: boolean
  end(): void
}

interface Child {
  readonly name: string
  readonly depth: number
  does: string
  /** The end of what it says. */
  said: string
}

export function createChildrenView(paint: Paint, cwd: string): ChildrenView {
  const children = new Map<string, Child>()
  let count = 0
  const of = ({ id, depth }: ChildEvent['child']): Child => {
    const known = children.get(id)
    if (known) return known
    const child = { name: `agent ${++count}`, depth, does: 'begins', said: '' }
    children.set(id, child)
    return child
  }
  return {
    show({ child: who, event }) {
      const child = of(who)
      if (!event.durable) {
        if (event.type === 'turn_started' || event.type === 'stream_void') child.said = ''
        if (event.type === 'tool_start') child.does = visibleName(event.displayName)
        if (event.type !== 'text' && event.type !== 'thinking') return
        child.said = (child.said + event.delta).slice(-said)
        child.does = ''
        return
      }
      const { entry } = event
      if (entry.type === 'run_ended') children.delete(who.id)
      if (entry.type !== 'turn' || entry.turn.role !== 'assistant') return
      const last = toolCallsOf(entry.turn).at(-1)
      if (last) child.does = `${visibleName(last.name)} ${callTitle(last.input, cwd)}`
    },
    live: (spinner) =>
      [...children.values()].map(
        ({ name, depth, does, said: words }) =>
          `${'  '.repeat(Math.min(depth, 4))}${paint.cyan(spinner)} ${name} ${paint.dim(does || textTail(words))}`,
      ),
    get isBusy() {
      return children.size > 0
    },
    end: () => children.clear(),
  }
}

const said = 400
