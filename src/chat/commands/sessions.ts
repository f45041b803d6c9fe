import { oneLine } from '../../core/text.ts'
import type { CommandWork } from '../lazy-command.ts'
import { chooseMessage, messageCompletions, requireIdleSession, requireSession } from './open-session.ts'

/** `/new`. */
export const begin: CommandWork = {
  async run(_, { chat, screen }) {
    await chat.open({})
    screen.print('a new session')
  },
}

export const sessions: CommandWork = {
  async complete(typed, { chat }) {
    const found = await chat.sessions({ parent: null, limit: 20, ...(typed !== '' && { prefix: typed }) })
    return found.sessions.map(({ id, title = '' }) => ({ text: id, detail: oneLine(title, 60) }))
  },
  async run(argument, { chat, screen }) {
    if (argument === '') return screen.open('sessions')
    const { sessions: found } = await chat.sessions({ prefix: argument, parent: null, limit: 6 })
    const exact = found.find(({ id }) => id === argument) ?? (found.length === 1 ? found[0] : undefined)
    if (exact) return chat.open({ resume: exact.id })
    if (found.length === 0) throw new Error(`There is no session "${argument}"; /sessions lists them`)
    throw new Error(`"${argument}" may be ${found.map(({ id }) => id).join(', ')}; type more of the id`)
  },
}

export const rename: CommandWork = {
  async run(argument, context) {
    const { chat, screen } = context
    const session = requireSession(context)
    const title = argument || (await screen.ask('Title of this session', chat.state.view.details.title))?.trim()
    if (!title) return
    await session.setDetails({ title })
    screen.print(`This session is now called "${title}"`)
  },
}

export const label: CommandWork = {
  async run(argument, context) {
    const { screen } = context
    const session = requireSession(context)
    const text = argument || (await screen.ask('Label'))?.trim()
    if (!text) return
    const seq = await session.label(text)
    screen.print(`Labelled entry ${seq} as "${text}"; /tree shows it, and /fork continues from it in a copy`)
  },
}

/** A copy from before a message has its text as the draft, to be sent in other words. */
export const fork: CommandWork = {
  complete: (_, context) => messageCompletions(context),
  async run(argument, context) {
    const { chat, screen } = context
    const { id } = requireIdleSession(context)
    const from = await chooseMessage(argument, context, { title: 'Continue in a copy from', before: ['here'] })
    if (from === undefined) return
    await chat.open({ fork: { id, ...(typeof from === 'object' && { at: from.row.from - 1 }) } })
    if (typeof from === 'object') screen.setDraft(from.text)
    screen.print(`This is a copy of session ${id}, which stays as it is`)
  },
}
