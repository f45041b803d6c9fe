import { expect, test } from 'vitest'
import { definePlugin } from '../../src/plugins/plugin.ts'
import { getFinalPromptResult } from '../../src/plugins/prompts/concat-prompt.ts'
import { call, texts } from '../../src/testing/scripted.ts'
import { definition, withTool, world } from './kit.ts'

const tone = definePlugin({
  toolId: 'tone',
  displayName: '',
  description: '',
  onProcessPrompts: ({ injectContent }) =>
    injectContent({ targetId: 'system', position: 'child', content: 'Be kind.' }),
})
const kind = definition('tone', 'look')
const definitions = [{ ...kind, config: { ...kind.config, prompts: [{ id: 'system', text: 'You help.' }] } }]

test('D041 the preview of a prompt is what the model is sent, step by step, and nothing is written', async () => {
  const plugins = [tone, withTool('look', () => 'nothing')]
  const { workflow, provider, log } = world([[call('1', 'look')], 'Nothing.', 'Still nothing.'], {
    definitions,
    plugins,
  })
  const { id } = await workflow.createAgent('helper')
  await workflow.sendMsgToAgent(id, 'Look around')
  const before = (await log(id)).length

  const states = []
  for await (const state of workflow.concatPrompt(id, 'And now?')) states.push(state)
  expect(states.map(({ step }) => step)).toEqual(['plugin', 'finalize', 'flatten', 'complete'])
  expect(states.map(({ progress }) => progress)).toEqual(states.map(({ progress }) => progress).toSorted())
  const { system, messages } = states.at(-1)!.result!
  expect(system).toBe('You help.\nBe kind.')
  expect((await log(id)).length).toBe(before)
  expect(provider.requests).toHaveLength(2)

  await workflow.sendMsgToAgent(id, 'And now?')
  expect(provider.requests[2]!.system).toBe(system)
  expect(texts(provider.requests[2]!.messages)).toEqual(texts(messages))
})

test('it includes the entries of another process, and accepts only text content', async () => {
  const first = world(['One.'])
  const { id } = await first.workflow.createAgent('helper')
  const second = first.again()
  await second.workflow.getMessages(id)
  await first.workflow.sendMsgToAgent(id, 'first')
  const { messages } = await getFinalPromptResult(second.workflow.concatPrompt(id))
  expect(texts(messages)).toEqual(['user: first', 'assistant: One.'])
  await expect(getFinalPromptResult(second.workflow.concatPrompt(id, 7 as never))).rejects.toThrow(
    'concatPrompt takes a text or { text, file?, wikiTiddlers? }, got 7',
  )
})
