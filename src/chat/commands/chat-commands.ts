import type { ChatCommand } from '../command.ts'
import { type CommandWords, type CommandWork, lazyCommand } from '../lazy-command.ts'

/** The commands that need nothing but the chat and its screen, in the order of the help. */
export const chatCommands: readonly ChatCommand[] = [
  entry(
    'help',
    'Show the commands, or what one of them does',
    { argument: '[command]' },
    async () => (await import('./views.ts')).help,
  ),
  entry('keys', 'Show the keys', {}, async () => (await import('./views.ts')).keys),
  entry('model', 'Choose the model', { argument: '[name]' }, async () => (await import('./settings.ts')).model),
  entry(
    'thinking',
    'Choose how much the model thinks',
    { argument: '[level]' },
    async () => (await import('./settings.ts')).thinking,
  ),
  entry(
    'profile',
    'Choose the profile of the agent: its tools and instructions',
    { argument: '[name]' },
    async () => (await import('./settings.ts')).profile,
  ),
  entry(
    'mode',
    'Choose which calls need an approval',
    { argument: '[mode]' },
    async () => (await import('./settings.ts')).mode,
  ),
  entry(
    'plan',
    'Plan without changing anything: sets the mode plan',
    { argument: '[task]' },
    async () => (await import('./settings.ts')).plan,
  ),
  entry('new', 'Begin a new session', {}, async () => (await import('./sessions.ts')).begin),
  entry(
    'sessions',
    'Choose another session, or open the one with this id',
    { argument: '[id]' },
    async () => (await import('./sessions.ts')).sessions,
  ),
  entry(
    'rename',
    'Set the title of this session',
    { argument: '[title]' },
    async () => (await import('./sessions.ts')).rename,
  ),
  entry(
    'label',
    'Label this point of the session, to find it in the tree',
    { argument: '[text]' },
    async () => (await import('./sessions.ts')).label,
  ),
  entry(
    'fork',
    'Continue in a copy of this session, from here or from before a message',
    {
      argument: '[message]',
    },
    async () => (await import('./sessions.ts')).fork,
  ),
  entry(
    'tree',
    'Show the forks and labels of this session, and open one',
    {},
    async () => (await import('./tree.ts')).tree,
  ),
  entry(
    'rewind',
    'Go back to before a message: conversation, files or both',
    { argument: '[message]' },
    async () => (await import('./rewind.ts')).rewind,
  ),
  entry(
    'rollback',
    'Restore the files from before a message',
    { argument: '[message]' },
    async () => (await import('./rewind.ts')).rollback,
  ),
  entry('undo', 'Undo the last message, or the last rewind', {}, async () => (await import('./rewind.ts')).undo),
  entry(
    'compact',
    'Replace the older part of the conversation by a summary now',
    {},
    async () => (await import('./context.ts')).compact,
  ),
  entry(
    'copy',
    'Copy the last answer, or a code block of it',
    { argument: '[block]' },
    async () => (await import('./copy.ts')).copy,
  ),
  entry('raw', 'Print the last answer unwrapped, for selecting', {}, async () => (await import('./copy.ts')).raw),
  entry('cost', 'Show the tokens and the cost of this session', {}, async () => (await import('./context.ts')).cost),
  entry('context', 'Show what fills the context of the model', {}, async () => (await import('./context.ts')).context),
  entry(
    'why',
    'Explain why a call was allowed, asked about or refused',
    { argument: '[call]' },
    async () => (await import('./why.ts')).why,
  ),
  entry(
    'grants',
    'Show the approvals that are kept, and revoke one',
    {},
    async () => (await import('./lists.ts')).grants,
  ),
  entry('waiting', 'Answer what waits in other sessions', {}, async () => (await import('./views.ts')).waiting),
  entry('todo', 'Show the steps of the agent', {}, async () => (await import('./lists.ts')).todo),
  entry('queue', 'Show queued messages, change one or send it now', {}, async () => (await import('./lists.ts')).queue),
  entry(
    'watch',
    'Watch what a sub-agent does',
    { argument: '[number]' },
    async () => (await import('./lists.ts')).watch,
  ),
  entry('jobs', 'Show background jobs, and stop one', {}, async () => (await import('./lists.ts')).jobs),
  entry('log', 'Show the log of this session', { argument: '[entry]' }, async () => (await import('./views.ts')).log),
  entry('theme', 'Choose the colours', { argument: '[name]' }, async () => (await import('./settings.ts')).theme),
  entry(
    'editor',
    'Write the message in your editor',
    { argument: '[text]' },
    async () => (await import('./views.ts')).editor,
  ),
  entry('quit', 'Leave; the session is kept', {}, async () => (await import('./views.ts')).quit),
]

function entry(
  name: string,
  summary: string,
  more: Pick<CommandWords, 'argument'>,
  load: () => Promise<CommandWork>,
): ChatCommand {
  return lazyCommand({ name, summary, ...more }, load)
}
