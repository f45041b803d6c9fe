import { describe, expect, test } from 'vitest'
import { scripted, texts } from '../testing/scripted.ts'
import { createWorkflow } from '../workflow/workflow.ts'
import { createHooksWithPlugins } from './create-plugin-hooks.ts'
import { definePlugin } from './plugin.ts'
import type { HandlerPlugin } from './tapable-hook.ts'
import { matchAllToolCallings } from './text-tools/match-tool-calling.ts'

const entry = { id: 'p1', toolId: 'ported' }
const context = { agent: { id: 'a', definitionId: 'd', messages: [] }, agentDef: { id: 'd' }, isCancelled: () => false }
const handlerContext = context as never

async function hooksOf(plugin: HandlerPlugin) {
  const errors: string[] = []
  const onError = ({ message }: Error): void => void errors.push(message)
  const made = await createHooksWithPlugins({ plugins: [entry] }, { plugins: { ported: plugin }, onError })
  return { ...made, errors }
}

describe('M08 a plugin in the form of TidGi', () => {
  test('M08 registers with tap, tapPromise and tapAsync, and its host calls promise and callAsync', async () => {
    const heard: string[] = []
    const { hooks, pluginConfigs } = await hooksOf((hooks) => {
      hooks.toolExecuted.tap('a', ({ toolInfo }) => heard.push(`tap ${toolInfo.toolId}`))
      hooks.toolExecuted.tapPromise({ name: 'b' }, async ({ pluginConfig }) => heard.push(`promise ${pluginConfig.id}`))
      hooks.toolExecuted.tapAsync('c', ({ handlerContext }, callback) => {
        setImmediate(() => {
          heard.push(`async ${handlerContext.agent.id}`)
          callback()
        })
      })
    })
    const told = {
      handlerContext,
      toolResult: { success: true },
      toolInfo: { toolId: 'look', parameters: {}, callId: '1' },
    }
    await hooks.toolExecuted.promise(told)
    expect(heard).toEqual(['tap look', 'promise p1', 'async a'])
    await new Promise<void>((resolve) => hooks.toolExecuted.callAsync(told, () => resolve()))
    expect(heard).toHaveLength(6)
    expect(pluginConfigs).toEqual([entry])
  })

  test('M08 passes the context on in a waterfall, and a handler of the host comes last', async () => {
    const { hooks } = await hooksOf((hooks) => {
      hooks.processPrompts.tapAsync('first', (ctx, callback) => {
        ctx.prompts.push({ id: 'one', text: 'One.' })
        callback(null, ctx)
      })
      hooks.processPrompts.tapAsync('second', async (ctx, callback) =>
        callback(null, { ...ctx, prompts: [...ctx.prompts, { id: 'two' }] }),
      )
    })
    hooks.processPrompts.tap('host', ({ prompts }) => void prompts.push({ id: 'three' }))
    const left = await hooks.processPrompts.promise({ handlerContext, prompts: [{ id: 'zero' }] })
    expect(left!.prompts.map(({ id }) => id)).toEqual(['zero', 'one', 'two', 'three'])
  })

  test('M08 that fails, by throwing, rejecting or calling back, is reported by name, and the others continue', async () => {
    let isHeard = false
    const { hooks, errors } = await hooksOf(({ userMessageReceived }) => {
      userMessageReceived.tap('a', () => {
        throw new Error('one')
      })
      userMessageReceived.tapAsync('b', async () => {
        throw new Error('two')
      })
      userMessageReceived.tapAsync('c', (_, callback) => callback(new Error('three')))
      userMessageReceived.tap('d', () => void (isHeard = true))
    })
    await hooks.userMessageReceived.promise({ handlerContext })
    const failed = (why: string): string => `plugin "ported" failed at userMessageReceived: ${why}`
    expect([errors, isHeard]).toEqual([['one', 'two', 'three'].map(failed), true])
  })

  test('M08 runs in a workflow: a result that it pushes is sent to the model, and its hook gets the reported call', async () => {
    const heard: unknown[] = []
    const dice: HandlerPlugin = (hooks) => {
      hooks.responseComplete.tapAsync('dice', async ({ handlerContext, response, actions }, callback) => {
        const [call] = matchAllToolCallings(response.content).calls
        if (!call) return callback()
        const { agent } = handlerContext
        agent.messages.push({
          id: 'r',
          agentId: agent.id,
          role: 'user',
          content: 'Result: 4',
          metadata: { isToolResult: true },
        })
        actions.yieldNextRoundTo = 'self'
        await hooks.toolExecuted.promise({
          handlerContext,
          toolResult: { success: true, data: '4' },
          toolInfo: { ...call, callId: '' },
        })
        callback()
      })
      hooks.toolExecuted.tap('dice', ({ toolInfo, toolResult }) => heard.push([toolInfo.toolId, toolResult.data]))
    }
    const provider = scripted('<tool_use name="roll">{"sides": 6}</tool_use>', 'A four.')
    const plugins = [definePlugin({ toolId: 'dice', displayName: 'Dice', description: 'Rolls.', register: dice })]
    const definitions = [{ id: 'player', config: { plugins: [{ id: 'd', toolId: 'dice' }] } }]
    const workflow = createWorkflow({ provider, definitions, plugins })
    const { id } = await workflow.createAgent('player')
    expect((await workflow.sendMsgToAgent(id, 'Roll.')).message?.content).toBe('A four.')
    expect(texts(provider.requests[1]!.messages).at(-1)).toBe('user: Result: 4')
    expect(heard).toEqual([['roll', '4']])
    await workflow.close()
  })

  test('M08 that is not known, or taps with no function, is refused by name', async () => {
    await expect(createHooksWithPlugins({ plugins: [entry] })).rejects.toThrow('there is no plugin "ported"')
    const { errors } = await hooksOf((hooks) => hooks.toolExecuted.tapAsync('x', undefined as never))
    expect(errors).toEqual([expect.stringContaining('the handler of toolExecuted by "x" must be a function')])
  })
})
