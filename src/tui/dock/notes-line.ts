import type { ChatState } from '../../chat/chat.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { pluralize } from '../rows/format.ts'
import type { Paint } from '../terminal/paint.ts'
import { cutToWidth } from '../terminal/text-width.ts'

/** One line about what else there is: the todo list, queued messages, jobs, other sessions; none if there is nothing. */
export function notesLine(
  state: ChatState,
  { paint, columns }: { readonly paint: Paint; readonly columns: number },
): string[] {
  const { view, queue, waitingElsewhere } = state
  const parts = [
    ...todoPart(state),
    ...(queue.length > 0 ? [`${queue.length} queued (/queue)`] : []),
    ...(view.queue.length > 0 ? [`${pluralize(view.queue.length, 'message')} on the way`] : []),
    ...agentsPart(state),
    ...(view.jobs.length > 0 ? [`${pluralize(view.jobs.length, 'job')} in the background (/jobs)`] : []),
    ...(waitingElsewhere.length > 0 ? [`${waitingElsewhere.length} wait in other sessions (/waiting)`] : []),
  ]
  if (parts.length === 0) return []
  return [paint.dim(cutToWidth(`  ${parts.join('   ')}`, columns - 1))]
}

function agentsPart({ view }: ChatState): string[] {
  const count = view.children.filter(({ isOver }) => !isOver).length
  return count === 0 ? [] : [`${pluralize(count, 'agent')} at work (/watch)`]
}

function todoPart({ view: { todos } }: ChatState): string[] {
  if (todos.length === 0) return []
  const done = todos.filter(({ status }) => status === 'completed').length
  if (done === todos.length) return []
  const current =
    todos.find(({ status }) => status === 'in_progress') ?? todos.find(({ status }) => status === 'pending')
  return [`todo ${done + 1} of ${todos.length}: ${cutToWidth(visibleName(current?.content ?? ''), 40)}`]
}
