import { completionsFor } from '../../chat/complete.ts'
import { findCommand, isPath, readCommandLine } from '../../chat/run-command.ts'
import { codeOf, messageOf } from '../../core/errors.ts'
import type { SessionSummary } from '../../core/store.ts'
import { sleep } from '../../core/waiting.ts'
import { badRequest, notOffered, Problem, parkedText, problemOf, refuseSubAgent } from '../problem.ts'
import { type Call, json, type Route } from '../route.ts'
import { type CommandActions, commandContext, remoteCommands } from '../session-commands.ts'
import { tenantOf } from '../session-names.ts'
import type { OpenWorkspace } from '../workspaces.ts'
import { sendMessage } from './send-message.ts'
import { changeSettings } from './session-settings.ts'

const commandSchema = {
  type: 'object',
  required: ['name', 'summary'],
  properties: {
    name: { type: 'string', description: 'Without the slash' },
    summary: { type: 'string' },
    argument: { type: 'string', description: 'As a list shows it; absent if it takes none' },
  },
}

/** What a person types: completion, and lines that begin with a slash. */
export const sessionCommandRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/sessions/{id}/completions',
    scope: 'read',
    summary: 'What can be meant at the caret: a file after @, a command after /, or its argument',
    query: { text: { type: 'string' }, caret: { type: 'integer', description: 'Default: the end of the text' } },
    answers: {
      200: {
        description: 'What can replace the text between `from` and `to`, best first',
        schema: {
          type: 'object',
          required: ['from', 'to', 'items'],
          properties: {
            from: { type: 'integer' },
            to: { type: 'integer' },
            items: {
              type: 'array',
              items: {
                type: 'object',
                required: ['text'],
                properties: { text: { type: 'string' }, label: { type: 'string' }, detail: { type: 'string' } },
              },
            },
          },
        },
        example: { from: 5, to: 9, items: [{ text: '@src/main.ts ', label: 'src/main.ts' }] },
      },
    },
    handle: complete,
  },
  {
    method: 'GET',
    path: '/v1/sessions/{id}/commands',
    scope: 'read',
    summary: 'The commands that can be run in a session: those of files and skills, and some of the terminal',
    answers: {
      200: {
        description: 'The commands',
        schema: {
          type: 'object',
          required: ['commands'],
          properties: { commands: { type: 'array', items: commandSchema } },
        },
        example: { commands: [{ name: 'review', summary: 'Review the changes (shipped)', argument: '[text]' }] },
      },
    },
    handle: ({ params, names, server }) =>
      inWorkspace({ params, names, server }, async (_, open) =>
        json({ commands: wordsOf(await remoteCommands(open)) }),
      ),
  },
  {
    method: 'POST',
    path: '/v1/sessions/{id}/commands',
    scope: 'send',
    summary:
      'Runs a line such as /review src. Commands of files and skills become a message, and so does a line that begins with a path, as in the terminal',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['line'],
      properties: { line: { type: 'string', minLength: 2, maxLength: 100_000 } },
    },
    headers: { 'Idempotency-Key': 'Of the message, as for messages' },
    answers: {
      200: {
        description: 'It is done; `text` is for the person, `sent` is there if it became a message',
        schema: {
          type: 'object',
          required: ['text'],
          properties: {
            text: { type: 'string' },
            sent: {
              type: 'object',
              required: ['clientKey', 'head'],
              properties: { clientKey: { type: 'string' }, head: { type: 'integer' } },
            },
          },
        },
        example: { text: '', sent: { clientKey: 'k1', head: 12 } },
      },
      422: { description: 'There is no such command (`commands` lists those there are), or it failed' },
    },
    handle: runLine,
  },
]

function inWorkspace(
  { params, names, server }: Pick<Call, 'params' | 'names' | 'server'>,
  work: (summary: SessionSummary, open: OpenWorkspace) => Promise<Response>,
): Promise<Response> {
  return names.find(server.store, params.id!).then((summary) => {
    refuseSubAgent(summary)
    return server.workspaces.use(summary, (open) => work(summary, open))
  })
}

const wordsOf = (commands: Awaited<ReturnType<typeof remoteCommands>>): object[] =>
  commands.map(({ name, summary, argument }) => ({ name, summary, ...(argument !== undefined && { argument }) }))

function complete(call: Call): Promise<Response> {
  const text = String(call.query.text ?? '')
  const caret = Math.min(Number(call.query.caret ?? text.length), text.length)
  return inWorkspace(call, async (_, open) => {
    // Files are listed only for those who look for one.
    const index = text.includes('@') ? (open.files?.index ?? (await open.files?.refresh())) : undefined
    const context = await commandContext(open, onlyReads)
    const found = await completionsFor(text, caret, { context, ...(index && { files: index }) })
    return json(found ?? { from: caret, to: caret, items: [] })
  })
}

const never = async (): Promise<never> => {
  throw new Error('completion changes nothing')
}
const onlyReads: CommandActions = { isBusy: false, set: never, send: never, compact: never, print() {} }

function runLine(call: Call): Promise<Response> {
  const line = String(call.body.line)
  const typed = readCommandLine(line)
  if (!line.startsWith('/'))
    throw badRequest(`A command begins with / and its name, got ${JSON.stringify(line.slice(0, 60))}`)
  return inWorkspace(call, async (summary, open) => {
    const actions = new LineActions(call, summary)
    const context = await commandContext(open, actions, typed?.name)
    const command = typed && findCommand(typed.name, context.commands)
    if (!typed || (!command && isPath(typed))) {
      await actions.send({ text: line })
      return json({ text: '', sent: actions.sent })
    }
    if (!command)
      throw new Problem(422, 'no_command', `There is no command /${typed.name.slice(0, 60)} here`, {
        commands: wordsOf(context.commands as Awaited<ReturnType<typeof remoteCommands>>),
      })
    if (typed.argument === '' && command.name.startsWith('skill:'))
      throw new Problem(422, 'command_failed', `Write the message behind it: /${command.name} <message>`)
    try {
      await command.run(typed.argument, context)
    } catch (error) {
      // What a command says is for people; what the machine says is not.
      if (problemOf(error) || codeOf(error) !== undefined) throw error
      throw new Problem(422, 'command_failed', messageOf(error).slice(0, 1000))
    }
    return json({ text: actions.printed.join('\n'), ...(actions.sent && { sent: actions.sent }) })
  })
}

/** A summary may take longer than a client waits; the log says when it is there. */
const waitMs = 20_000

/** What one line does to its session. */
class LineActions implements CommandActions {
  readonly printed: string[] = []
  sent: { readonly clientKey: string; readonly head: number } | undefined
  readonly #call: Call
  readonly #summary: SessionSummary

  constructor(call: Call, summary: SessionSummary) {
    this.#call = call
    this.#summary = summary
  }

  get isBusy(): boolean {
    return this.#call.server.work.has(this.#summary.id)
  }

  readonly set: CommandActions['set'] = ({ model, thinking, mode, profile }) =>
    changeSettings(this.#call, {
      ...(model && { model: { provider: model.provider, model: model.model } }),
      ...{ ...(thinking && { thinking }), ...(mode && { mode }), ...(profile !== undefined && { profile }) },
    })

  readonly send: CommandActions['send'] = async ({ text, parts }, skill) => {
    const { id, head, status } = this.#summary
    if (status === 'parked') throw new Problem(409, 'parked', parkedText)
    if (skill !== undefined) await (await this.#call.server.work.served(id))?.activateSkill?.(skill)
    const message = { content: parts ?? text, mode: 'prompt' as const, ...(skill !== undefined && { meta: { skill } }) }
    this.sent = { clientKey: await sendMessage(this.#call, id, message), head }
  }

  readonly compact: CommandActions['compact'] = async () => {
    const { work, store, clock } = this.#call.server
    const working = work.withAgent(this.#summary, await tenantOf(store, this.#summary.id), async ({ compact }) => {
      if (!compact) throw notOffered('compaction on request')
      return `The older part of the conversation is now a summary of ${(await compact()).length} characters`
    })
    const later = 'The conversation is being summarised; the log says when it is done'
    const answered = new AbortController()
    const tooLong = sleep(waitMs, { clock, signals: [answered.signal] }).then(() => later)
    working.catch(() => {}) // the log says why
    return Promise.race([working, tooLong]).finally(() => answered.abort())
  }

  readonly print = (text: string): void => void this.printed.push(text)
}
