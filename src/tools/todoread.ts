import type { ToolDef } from '../core/tool.ts'
import { formatTodos, readTodos } from './todo-list.ts'

const description = 'Shows the list of steps as it was last written.'

/** Shows the model's list of what is to be done. */
export const todoread: ToolDef = {
  spec: { name: 'todoread', description, inputSchema: { type: 'object', properties: {} } },
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
