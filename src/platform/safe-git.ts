/** Options by which git runs no program that a repository configures: hooks, monitors, signature checkers and pagers. */
export const safeGitOptions: readonly string[] = [
  '--no-pager',
  ...[
    'core.fsmonitor=false',
    'core.hooksPath=/dev/null',
    'log.showSignature=false',
    // A folder of a project may be a bare repository, with settings of its own.
    'safe.bareRepository=explicit',
  ].flatMap((setting) => ['-c', setting]),
]

/**
 * A repository with missing objects configures where to fetch them, and with which program. Git before 2.44 does not know the
 * first of these; the second one allows no transport.
 */
export const safeGitEnv: Readonly<Record<string, string>> = {
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_TERMINAL_PROMPT: '0',
  LC_ALL: 'C',
}
