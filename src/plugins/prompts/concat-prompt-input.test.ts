import { expect, test } from 'vitest'
import { createPluginHooks } from '../create-plugin-hooks.ts'
import { concatPrompt, getFinalPromptResult } from '../index.ts'

const input = {
  prompts: [{ id: 's', text: 'You help.' }],
  messages: [],
  hooks: createPluginHooks([], () => {}),
  agentFrameworkContext: {},
  metadata: {},
  actions: {},
}

test('a valid input gives a prompt', async () => {
  expect(await getFinalPromptResult(concatPrompt(input as never))).toMatchObject({ system: 'You help.' })
})

test.each([
  [undefined, 'concatPrompt takes an object with prompts and hooks, got undefined'],
  [{ ...input, plugins: [] }, 'concatPrompt takes no "plugins"'],
  [{ ...input, prompt: [] }, 'concatPrompt takes no "prompt", did you mean "prompts"?'],
  [{ ...input, hooks: undefined }, 'concatPrompt needs hooks, what createPluginHooks(plugins, onError) gives, got'],
  [{ ...input, messages: 'Hi' }, 'concatPrompt needs messages, a list of messages, got "Hi"'],
  [
    { ...input, contextWindowSize: '8k' },
    'concatPrompt needs contextWindowSize, a number of tokens, or none, got "8k"',
  ],
])('what is wrong with its input is named', (given, words) => {
  expect(() => concatPrompt(given as never)).toThrow(words)
})
