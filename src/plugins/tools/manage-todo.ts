import type { Log } from '../../core/log.ts'
import type { ToolDef } from '../../core/tool.ts'
import { formatTodos, readTodos, type Todo, todowrite } from '../../tools/todo.ts'
import { definePlugin, type PluginDefinition } from '../plugin.ts'
import type { PromptNode } from '../prompts/prompt.ts'

const description = `Writes down the steps of a task, replacing the whole list. For work of three steps or more.
Mark a step in_progress before you begin it and completed as soon as it is really done. You are shown the list in every round; write an empty one when nothing is left of it.`

const manageTodo: ToolDef<{ readonly todos: readonly Todo[] }> = {
  ...todowrite,
  spec: { ...todowrite.spec, name: 'manage-todo', description },
}

/** Keeps a todo list in the log, and shows it to the model in every round. */
export const manageTodoPlugin: PluginDefinition = definePlugin({
  toolId: 'manage-todo',
  displayName: 'Todo list',
  description: 'Keeps a list of steps and shows it to the model in every round.',
  tools: () => [manageTodo],
  onProcessPrompts({ agentFrameworkContext, prompts, messages, findPrompt }) {
    const { states } = agentFrameworkContext.agent
    const todos = readTodos({ transcript: { states } } as Log)
    if (todos.length === 0 || findPrompt(pieceId)) return
    const text = `${heading}\n${formatTodos(todos)}`
    // After the conversation, so that everything before it stays the same and is cached.
    if (!hasHistory(prompts)) prompts.push({ id: 'manage-todo-history', history: messages })
    prompts.push({ id: pieceId, caption: 'Todo list', role: 'user', text, source: ['manage-todo'] })
  },
})

const pieceId = 'manage-todo-list'
const hasHistory = (nodes: readonly PromptNode[]): boolean =>
  nodes.some(({ history, children = [] }) => history !== undefined || hasHistory(children))

const heading = 'Your todo list as it stands now (kept with manage-todo; not a message of the user):'
