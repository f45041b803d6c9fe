import type { Log } from '../core/log.ts'
import type { ToolCheck } from '../core/tool.ts'

export type TodoStatus = 'pending' | 'in_progress' | 'completed'

export interface Todo {
  readonly content: string
  readonly status: TodoStatus
}

export const todoStatuses: readonly TodoStatus[] = ['pending', 'in_progress', 'completed']

/** Under this name the list stands in the log. */
const owner = 'todo'

/** The list as it was written last, in whichever run that was. */
export function readTodos({ transcript }: Log): readonly Todo[] {
  const state = transcript.states.get(owner)
  return Array.isArray(state) ? state.filter(isTodo) : []
}

/** Resolves once the list cannot be lost any more. */
export async function writeTodos(log: Log, todos: readonly Todo[]): Promise<void> {
  await log.append({ type: 'state', owner, value: todos })
}

/** The list, numbered, as the model reads it. */
export function formatTodos(todos: readonly Todo[]): string {
  if (todos.length === 0) return '(the list is empty)'
  return todos.map(({ content, status }, i) => `${i + 1}. ${boxes[status]} ${content}`).join('\n')
}

const boxes: Record<TodoStatus, string> = { pending: '[ ]', in_progress: '[>]', completed: '[x]' }

const mostTodos = 100
const longestContent = 500

/** Reads what a model wrote as a list: near misses are mended, the rest is refused with what is wrong. */
export function checkTodos(raw: unknown): ToolCheck {
  if (!Array.isArray(raw)) return { valid: false, error: '"todos" must be a list of { content, status }' }
  if (raw.length > mostTodos)
    return { valid: false, error: `${raw.length} todos are too many; write at most ${mostTodos}, in bigger steps` }
  const todos: Todo[] = []
  for (const [i, item] of raw.entries()) {
    const { content, status = 'pending' } = typeof item === 'string' ? { content: item } : (item ?? {})
    const where = `todos[${i}]`
    if (typeof content !== 'string' || content.trim() === '')
      return { valid: false, error: `${where}.content must say what is to be done` }
    if (content.length > longestContent)
      return { valid: false, error: `${where}.content has ${content.length} characters; at most ${longestContent} fit` }
    const known = statusOf(status)
    if (!known)
      return {
        valid: false,
        error: `${where}.status must be one of ${todoStatuses.join(', ')}, got ${JSON.stringify(status)}`,
      }
    todos.push({ content: content.trim(), status: known })
  }
  return { valid: true, input: { todos } }
}

function statusOf(value: unknown): TodoStatus | undefined {
  const name = String(value)
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, '_')
  return todoStatuses.find((status) => status === (synonyms.get(name) ?? name))
}

const synonyms = new Map([
  ['done', 'completed'],
  ['complete', 'completed'],
  ['todo', 'pending'],
  ['active', 'in_progress'],
])

function isTodo(value: unknown): value is Todo {
  const { content, status } = (value ?? {}) as Partial<Todo>
  return typeof content === 'string' && todoStatuses.includes(status as TodoStatus)
}
