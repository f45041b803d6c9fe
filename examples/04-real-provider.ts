// A real model: the first whose key is in the environment. Without a key a script answers, so that this runs anywhere.
import { createAgent } from 'libero'
import { anthropic, cerebras, google, openai, openaiCompat, openrouter } from 'libero/providers'
import { scripted } from 'libero/testing'
import type { Provider } from 'libero/types'

const services: Record<string, () => Provider> = {
  ANTHROPIC_API_KEY: anthropic,
  OPENAI_API_KEY: openai,
  GEMINI_API_KEY: google,
  OPENROUTER_API_KEY: openrouter,
  CEREBRAS_API_KEY: cerebras,
  GROQ_API_KEY: () => openaiCompat('groq'),
}

const found = Object.entries(services).find(([variable]) => process.env[variable])
const provider = found ? found[1]() : scripted('I am only a script, but I can be streamed.')
const { name, defaultModel } = provider.meta
const model = process.env.MODEL ?? defaultModel
if (!found) console.log(`For a real model, set ${Object.keys(services).join(' or ')}.`)
console.log(`Asking ${model} of ${name}.`)

const agent = createAgent({ provider, system: 'Answer in one sentence.' })
agent.hooks.hook('stream:text', ({ delta }) => void process.stdout.write(delta))
agent.hooks.hook('stream:retry', ({ reason, delayMs = 0 }) => console.log(`[again in ${delayMs} ms: ${reason}]`))

const { totalIn, totalOut, cost } = await agent.run({ prompt: 'Who are you, and what are you good at?', model })
const price = cost === undefined ? 'at an unknown price' : `for $${cost.toFixed(6)}`
console.log(`\n${totalIn} tokens in, ${totalOut} out, ${price}.`)
