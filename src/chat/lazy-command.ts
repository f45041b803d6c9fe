import type { ChatCommand } from './command.ts'

/** What a command does. Its name and its summary stand in a list, which loads none of them. */
export type CommandWork = Pick<ChatCommand, 'run' | 'complete'>

/** How a command appears in lists. */
export type CommandWords = Pick<ChatCommand, 'name' | 'summary' | 'argument'>

/** A command whose code is imported when it is first used. */
export function lazyCommand(words: CommandWords, load: () => Promise<CommandWork>): ChatCommand {
  return {
    ...words,
    ...(words.argument !== undefined && {
      complete: async (typed, context) => (await (await load()).complete?.(typed, context)) ?? [],
    }),
    run: async (argument, context) => (await load()).run(argument, context),
  }
}
