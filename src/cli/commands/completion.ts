import { type Command, defineCommand } from '../command.ts'

/** Takes the list of commands as an argument, because `commands.ts` imports this file. */
export const completion = (all: () => Promise<readonly Command[]>): Command =>
  defineCommand({
    name: 'completion',
    summary: 'Print completions for a shell',
    words: '<bash|zsh|fish>',
    maxWords: 1,
    details: ['The script contains the commands, flags and values of this version. Print it again after an update.'],
    examples: [
      { line: 'source <(libero completion bash)', says: 'In ~/.bashrc: completions in every bash' },
      { line: 'libero completion zsh > "$fpath[1]/_libero"', says: 'Then restart zsh' },
      { line: 'libero completion fish > ~/.config/fish/completions/libero.fish', says: 'Fish loads it from there' },
    ],
    run: async ({ words }, io) => (await import('../completion/completion.ts')).printCompletion(words[0], all, io),
  })
