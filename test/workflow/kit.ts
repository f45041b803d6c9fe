import { onTestFinished } from 'vitest'
import type { LogEntry } from '../../src/core/log.ts'
import type { SessionStore } from '../../src/core/store.ts'
import type { AgentInstanceMessage } from '../../src/plugins/message.ts'
import { definePlugin, type PluginDefinition, type PluginEntry } from '../../src/plugins/plugin.ts'
import type { PluginHookName } from '../../src/plugins/plugin-hooks.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { memoryExecution } from '../../src/testing/memory-execution.ts'
import { type ScriptedProvider, type Step, scripted } from '../../src/testing/scripted.ts'
import type { AgentDefinition } from '../../src/workflow/definitions/definition.ts'
import type { WorkflowUpdate } from '../../src/workflow/listeners.ts'
import { createWorkflow, type Workflow, type WorkflowOptions } from '../../src/workflow/workflow.ts'

export interface World {
  readonly workflow: Workflow
  readonly store: SessionStore
  readonly provider: ScriptedProvider
  readonly errors: Error[]
  readonly updates: WorkflowUpdate[]
  /** The raw log of an agent. */
  log(agentId: string): Promise<readonly LogEntry[]>
  /** The same store in a new process, as far as that goes. */
  again(options?: Partial<WorkflowOptions>): World
}

/** A workflow with a scripted model; closed after the test. */
export function world(steps: readonly Step[], options: Partial<WorkflowOptions> = {}): World {
  const { store = createMemoryStore(), definitions = [definition()], ...more } = options
  const provider = scripted(...steps)
  const errors: Error[] = []
  const updates: WorkflowUpdate[] = []
  const workflow = createWorkflow({
    provider,
    definitions,
    // Every world listens to all agents; so it does not ask the store every second what others wrote.
    store: { ...store, isOneProcess: true },
    execution: memoryExecution(),
    onError: (error) => void errors.push(error),
    ...more,
  })
  onTestFinished(() => workflow.close())
  workflow.subscribe(undefined, (update) => void updates.push(update))
  return {
    ...{ workflow, store, provider, errors, updates },
    log: (agentId) => store.read(agentId),
    again: (changed = {}) => world([], { ...options, store, ...changed }),
  }
}

/** A store whose disk is full while `broken.is`. */
export function failingStore(broken: { readonly is: boolean }): SessionStore {
  const store = createMemoryStore()
  return {
    ...store,
    append: async (...given) => {
      if (broken.is) throw new Error('the disk is full')
      return store.append(...given)
    },
  }
}

/** A definition with these plugins, each under its own id. */
export function definition(
  ...plugins: readonly (string | (Partial<PluginEntry> & { toolId: string }))[]
): AgentDefinition {
  const entries = plugins.map((one) =>
    typeof one === 'string' ? { id: one, toolId: one } : { id: one.toolId, ...one },
  )
  return {
    id: 'helper',
    config: { prompts: [{ id: 'system', text: 'You help.' }], plugins: entries as PluginEntry[] },
  }
}

/** A plugin that writes down what it hears. */
export function listening(heard: string[], ...hooks: readonly PluginHookName[]): PluginDefinition {
  return definePlugin({
    toolId: 'listening',
    displayName: 'Listening',
    description: 'Writes down what it hears.',
    register(taps) {
      for (const hook of hooks) taps.tap(hook, (ctx) => void heard.push(said(hook, ctx as never)))
    },
  })
}

function said(hook: PluginHookName, ctx: Record<string, never>): string {
  const { content, status, response, toolInfo, toolResult } = ctx as Record<string, Record<string, unknown>>
  if (hook === 'userMessageReceived') return `user ${content!.text}`
  if (hook === 'agentStatusChanged') return `status ${status!.state}`
  if (hook === 'responseUpdate') return `update ${response!.content}`
  if (hook === 'responseComplete') return `complete ${response!.status} ${response!.content}`
  if (hook === 'toolExecuted') return `executed ${toolInfo!.toolId} ${toolResult!.success}`
  return hook
}

/** A plugin with one tool. */
export function withTool(
  name: string,
  execute: (input: Record<string, unknown>) => unknown,
  more: object = {},
): PluginDefinition {
  return definePlugin({
    toolId: name,
    displayName: name,
    description: `Offers ${name}.`,
    tools: () => [
      {
        spec: { name, description: `Does ${name}.`, inputSchema: { type: 'object', properties: {} } },
        execute: async (input) => execute(input) as string,
        effects: [],
        replay: 'pure',
        ...more,
      },
    ],
  })
}

/** Messages in short. */
export const short = (messages: readonly AgentInstanceMessage[]): string[] =>
  messages.map(({ role, content, duration }) => `${role}${duration === undefined ? '' : `/${duration}`}: ${content}`)
