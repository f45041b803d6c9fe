import { isRecord } from '../../core/is-record.ts'
import { visibleName } from '../../platform/visible-text.ts'
import type { TodoView } from '../../view/session-view.ts'
import type { Paint } from '../terminal/paint.ts'
import { cutToWidth } from '../terminal/text-width.ts'

/** A list of steps: a box for each, the one at work bold, what is done dim. */
export function todoLines(todos: readonly TodoView[], { paint, columns }: { paint: Paint; columns: number }): string[] {
  return todos.map(({ content, status }) => {
    const text = cutToWidth(visibleName(content), columns - 3)
    if (status === 'completed') return `${paint.green('☑')} ${paint.dim(text)}`
    return `☐ ${status === 'in_progress' ? paint.bold(text) : text}`
  })
}

/** The list that a call wrote or read, as its result tells it; `undefined` if it is about no list. */
export function todosOf(details: unknown): readonly TodoView[] | undefined {
  if (!isRecord(details) || !Array.isArray(details.todos)) return undefined
  const todos: readonly unknown[] = details.todos
  return todos.every(isTodo) ? todos : undefined
}

function isTodo(value: unknown): value is TodoView {
  return isRecord(value) && typeof value.content === 'string' && typeof value.status === 'string'
}
