import type { ToolDef } from '../core/tool.ts'
import { checkTodos, type Todo, todoStatuses, writeTodos } from './todo-list.ts'

const description = `Writes down the steps of a task, replacing the whole list. For work of three steps or more.
Mark a step in_progress before you begin it and completed as soon as it is really done. The list outlives this conversation's runs.`

/** Keeps the model's list of what is to be done. */
export const todowrite: ToolDef<{ readonly todos: readonly Todo[] }> = {
  spec: {
    name: 'todowrite',
    description,
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
