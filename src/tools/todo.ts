import type { Log } from '../core/log.ts'
import type { ToolCheck, ToolDef } from '../core/tool.ts'

export type TodoStatus = 'pending' | 'in_progress' | 'completed'

export interface Todo {
  readonly content: string
  readonly status: TodoStatus
}

const todoStatuses: readonly TodoStatus[] = ['pending', 'in_progress', 'completed']

/** The owner of the list in the log. */
const owner = 'todo'

/** The latest list, of any run. */
export function readTodos({ transcript }: Log): readonly Todo[] {
  const state = transcript.states.get(owner)
  return Array.isArray(state) ? state.filter(isTodo) : []
}

/** Resolves once the list is durable. */
async function writeTodos(log: Log, todos: readonly Todo[]): Promise<void> {
  await log.append({ type: 'state', owner, value: todos })
}

/** The list, numbered, as the model reads it. */
export function formatTodos(todos: readonly Todo[]): string {
  if (todos.length === 0) return '(the list is empty)'
  return todos.map(({ content, status }, i) => `${i + 1}. ${boxes[status]} ${content}`).join('\n')
}

const boxes: Record<TodoStatus, string> = { pending: '[ ]', in_progress: '[>]', completed: '[x]' }

const maxTodos = 100
const maxContentLength = 500

/** Checks a list of the model: near misses are corrected, other errors are reported. */
function checkTodos(raw: unknown): ToolCheck {
  if (!Array.isArray(raw)) return { valid: false, error: '"todos" must be a list of { content, status }' }
  if (raw.length > maxTodos)
    return { valid: false, error: `${raw.length} todos are too many; write at most ${maxTodos}, in bigger steps` }
  const todos: Todo[] = []
  for (const [i, item] of raw.entries()) {
    const { content, status = 'pending' } = typeof item === 'string' ? { content: item } : (item ?? {})
    const where = `todos[${i}]`
    if (typeof content !== 'string' || content.trim() === '')
      return { valid: false, error: `${where}.content must say what is to be done` }
    if (content.length > maxContentLength)
      return {
        valid: false,
        error: `${where}.content has ${content.length} characters; at most ${maxContentLength} fit`,
      }
    const knownStatus = statusOf(status)
    if (!knownStatus)
      return {
        valid: false,
        error: `${where}.status must be one of ${todoStatuses.join(', ')}, got ${JSON.stringify(status)}`,
      }
    todos.push({ content: content.trim(), status: knownStatus })
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

const readDescription = 'Shows the list of steps as it was last written.'

/** Shows the model's list of what is to be done. */
export const todoread: ToolDef = {
  spec: { name: 'todoread', description: readDescription, inputSchema: { type: 'object', properties: {} } },
  isConcurrencySafe: true,
  replay: 'pure',
  effects: [],
  deriveApprovalKey: () => 'todos',
  timeoutMs: 30_000,
  execute(_, { log }) {
    const todos = readTodos(log)
    return { output: formatTodos(todos), details: { todos } }
  },
}

const writeDescription = `Writes down the steps of a task, replacing the whole list. For work of three steps or more.
Mark a step in_progress before you begin it and completed as soon as it is really done. The list outlives this conversation's runs.`

/** Keeps the model's list of what is to be done. */
export const todowrite: ToolDef<{ readonly todos: readonly Todo[] }> = {
  spec: {
    name: 'todowrite',
    description: writeDescription,
    inputSchema: {
      type: 'object',
      properties: {
        todos: {
          type: 'array',
          items: {
            type: 'object',
            properties: { content: { type: 'string' }, status: { type: 'string', enum: todoStatuses } },
            required: ['content', 'status'],
          },
        },
      },
      required: ['todos'],
    },
  },
  isConcurrencySafe: false,
  replay: 'keyed', // the same list twice is the same list
  effects: [],
  deriveApprovalKey: () => 'todos',
  timeoutMs: 30_000,
  check: ({ todos }) => checkTodos(todos),
  async execute({ todos }, { log }) {
    await writeTodos(log, todos)
    const done = todos.filter(({ status }) => status === 'completed').length
    const summary = todos.length === 0 ? 'The list is empty now.' : `Noted: ${done} of ${todos.length} done.`
    return { output: summary, details: { todos } }
  },
}
