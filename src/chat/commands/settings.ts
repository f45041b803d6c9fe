import type { SecurityMode } from '../../authority/rules/settings.ts'
import { didYouMean } from '../../core/nearest.ts'
import type { ThinkingLevel } from '../../core/thinking.ts'
import type { ModelChoice } from '../chat.ts'
import type { CommandContext, CommandScreen } from '../command.ts'
import type { CommandWork } from '../lazy-command.ts'

const modes: Readonly<Record<SecurityMode, string>> = {
  plan: 'reads only; every change is refused',
  ask: 'asks before what is not read-only or allowed by a rule',
  allowlist: 'also allows what the allowlist names',
  yolo: 'asks only about irreparable damage',
}

export const mode: CommandWork = {
  complete: () => Object.entries(modes).map(([text, detail]) => ({ text, detail })),
  async run(argument, context) {
    const { chat, screen } = context
    const wanted = await pick(argument, { title: 'Mode', choices: modes, present: presentMode(context), screen })
    if (wanted === undefined) return
    if (wanted === 'yolo' && !(await isSure(context))) return screen.print('The mode stays as it was')
    await chat.set({ mode: wanted })
    screen.print(`Mode: ${wanted}, ${modes[wanted]}`)
  },
}

export const plan: CommandWork = {
  async run(argument, context) {
    const { chat, screen } = context
    if (presentMode(context) !== 'plan') {
      await chat.set({ mode: 'plan' })
      screen.print(`Mode: plan, ${modes.plan}`)
    } else if (argument === '') screen.print('The mode is plan already; /mode ask leaves it')
    if (argument !== '') await chat.send({ text: argument })
  },
}

function presentMode({ chat }: CommandContext): SecurityMode {
  const { mode: present } = chat.state.settings
  if (present === undefined) throw new Error('This agent has no authority that decides about calls, so it has no mode')
  return present
}

async function isSure({ chat, screen }: CommandContext): Promise<boolean> {
  if (chat.state.settings.mode === 'yolo') return true
  const items = [
    { label: 'no', detail: 'the mode stays as it is' },
    { label: 'yes', detail: 'calls run without a question, except for irreparable damage' },
  ]
  return (await screen.choose({ title: 'Run calls without asking you?', items, initial: 0 })) === 1
}

const levels: Readonly<Record<ThinkingLevel, string>> = {
  off: 'answers at once',
  minimal: 'about 1,000 tokens',
  low: 'about 4,000 tokens',
  medium: 'about 10,000 tokens',
  high: 'about 32,000 tokens',
  adaptive: 'the model decides, if it can',
}

export const thinking: CommandWork = {
  complete: () => Object.entries(levels).map(([text, detail]) => ({ text, detail })),
  async run(argument, { chat, screen }) {
    const present = chat.state.settings.thinking
    const level = await pick(argument, { title: 'Thinking', choices: levels, present, screen })
    if (level === undefined) return
    await chat.set({ thinking: level })
    screen.print(`Thinking: ${level}`)
  },
}

export const profile: CommandWork = {
  complete: (_, { chat }) => chat.profiles.map((text) => ({ text })),
  async run(argument, { chat, screen }) {
    if (chat.profiles.length === 0) throw new Error('There are no profiles to choose from here')
    const choices = Object.fromEntries(chat.profiles.map((name) => [name, '']))
    const present = chat.state.settings.profile
    const name = await pick(argument, { title: 'Profile', choices, present, screen })
    if (name === undefined) return
    await chat.set({ profile: name })
    screen.print(`Profile: ${name}`)
  },
}

export const theme: CommandWork = {
  complete: (_, { screen }) => (screen.themes ?? []).map((text) => ({ text })),
  async run(argument, { screen }) {
    const { themes = [] } = screen
    if (themes.length === 0 || !screen.setTheme)
      throw new Error('This screen has one theme: the colours of the terminal')
    const choices = Object.fromEntries(themes.map((name) => [name, '']))
    const name = await pick(argument, { title: 'Theme', choices, present: themes[0], screen })
    if (name === undefined) return
    await screen.setTheme(name)
    screen.print(`Theme: ${name}`)
  },
}

export const model: CommandWork = {
  async complete(_, { chat }) {
    return (await chat.models()).map((choice) => ({ text: nameOf(choice), ...windowOf(choice) }))
  },
  async run(argument, context) {
    const { chat, screen } = context
    const models = await chat.models()
    const chosen = argument === '' ? await choose(models, context) : modelNamed(argument, models)
    if (!chosen) return
    await chat.set({ model: chosen })
    screen.print(`Model: ${nameOf(chosen)}`)
  },
}

async function choose(
  models: readonly ModelChoice[],
  { chat, screen }: CommandContext,
): Promise<ModelChoice | undefined> {
  const present = chat.state.settings.model
  if (models.length === 0)
    throw new Error(`No list of models is available; name one: /model ${present.provider}/${present.model}`)
  const at = models.findIndex((one) => nameOf(one) === nameOf(present))
  const index = await screen.choose({
    title: `Model (now ${nameOf(present)})`,
    items: models.map((one) => ({ label: nameOf(one), ...windowOf(one) })),
    ...(at >= 0 && { initial: at }),
  })
  return index === undefined ? undefined : models[index]
}

/** A model by its full name, its own name, or a part of the name that only one has. A name that is not listed is tried as it is. */
function modelNamed(argument: string, models: readonly ModelChoice[]): ModelChoice {
  const wanted = argument.toLowerCase()
  const exact = models.find((one) => nameOf(one).toLowerCase() === wanted || one.model.toLowerCase() === wanted)
  if (exact) return exact
  const similar = models.filter((one) => nameOf(one).toLowerCase().includes(wanted))
  if (similar.length === 1) return similar[0]!
  if (similar.length > 1)
    throw new Error(`"${argument}" may be ${similar.slice(0, 5).map(nameOf).join(', ')}; type more of the name`)
  const [, provider, name] = /^([^/\s]+)\/(\S+)$/.exec(argument) ?? []
  if (provider !== undefined && name !== undefined) return { provider, model: name }
  const hint = didYouMean(
    argument,
    models.map(({ model }) => model),
  )
  throw new Error(`There is no model "${argument}"${hint || '; write it as provider/model'}`)
}

const nameOf = ({ provider, model }: ModelChoice): string => (provider === model ? model : `${provider}/${model}`)

const windowOf = ({ contextWindow }: ModelChoice): { readonly detail?: string } =>
  contextWindow === undefined ? {} : { detail: `${Math.round(contextWindow / 1000)}k tokens` }

interface Picking<Name extends string> {
  readonly title: string
  /** The names with what each means. */
  readonly choices: Readonly<Record<Name, string>>
  readonly present: Name | undefined
  readonly screen: CommandScreen
}

/** One of a few names: the argument, or what the person chooses; `undefined` if they choose nothing. */
async function pick<Name extends string>(argument: string, picking: Picking<Name>): Promise<Name | undefined> {
  const { title, choices, present, screen } = picking
  const names = Object.keys(choices) as Name[]
  if (argument !== '') {
    const named = names.find((name) => name === argument.toLowerCase())
    if (named !== undefined) return named
    const hint = didYouMean(argument, names)
    throw new Error(`"${argument}" is none of ${names.join(', ')}${hint}`)
  }
  const at = present === undefined ? -1 : names.indexOf(present)
  const items = names.map((label) => ({ label, detail: choices[label] }))
  const index = await screen.choose({ title, items, ...(at >= 0 && { initial: at }) })
  return index === undefined ? undefined : names[index]
}
