import { type Command, defineCommand } from '../command.ts'

/** The command that knows all others, and therefore has to be told of them. */
export const completion = (all: () => Promise<readonly Command[]>): Command =>
  defineCommand({
    name: 'completion',
    summary: 'Print completions for a shell',
    words: '<bash|zsh|fish>',
    maxWords: 1,
    details: ['The script knows every command, flag and value of this version. Print it again after an update.'],
    examples: [
      { line: 'source <(libero completion bash)', says: 'In ~/.bashrc: completions in every bash' },
      { line: 'libero completion zsh > "$fpath[1]/_libero"', says: 'Then start zsh anew' },
      { line: 'libero completion fish > ~/.config/fish/completions/libero.fish', says: 'Fish finds it there' },
    ],
    run: async ({ words }, io) => (await import('../completion/completion.ts')).printCompletion(words[0], all, io),
  })
