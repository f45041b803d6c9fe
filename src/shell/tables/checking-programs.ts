/**
 * Programs that run code of the project to check it, or a little code of the line, or show something, and work where nothing
 * can be written. `start` is compared with all words, `needs` and `refuses` with each. Only for a sandbox: what the code does,
 * and what flags the others have, is not known.
 */
const checks: Readonly<Record<string, Check>> = {
  ...named('node nodejs', { start: /^(-e|-p|-pe|--eval|--print|-c|--check)(=| |$)/ }),
  ...named('python python3', { start: /^(-c|-m (json\.tool|ast|tokenize|site|pip (list|show|freeze|check))( |$))/ }),
  ...named('ruby', { start: /^(-e|-c$)/ }),
  ...named('perl', { start: /^-[nplE0-9]*[ec]( |$)/ }),
  ...named('php', { start: /^-[rl] / }),
  ...named('awk gawk mawk nawk', { refuses: /^(-[iodpl]|--(include|load|pretty-print|dump-variables|profile))/ }),
  ...named('bash sh dash', { start: /^-n / }),
  ...named('tsc', { needs: /^--?noemit$/i, refuses: /^--?(w|watch|init|outfile|outdir|generatetrace)$/i }),
  ...named('eslint', { refuses: /^(--fix|--init|--cache|-o|--output-file)/ }),
  ...named('biome', { start: /^(check|lint|ci|format)( |$)/, refuses: /^--(write|fix|apply|unsafe|suppress)/ }),
  ...named('prettier', { needs: /^(--check|-c|--list-different|-l)$/, refuses: /^(--write|-w)$/ }),
  ...named('oxlint stylelint markdownlint rubocop pylint flake8 yamllint shellcheck hadolint', {
    refuses: /^(--fix|-a$|-A$|--auto|-o$|--output)/,
  }),
  ...named('mypy pyright', { refuses: /^--(install-types|.*-report|createstub|watch)|^-w$/ }),
  ...named('ruff', {
    start: /^check( |$)/,
    refuses: /^(--fix|--unsafe-fixes|--add-noqa|-o|--output-file|--watch|-w$)/,
  }),
  ...named('black isort', { needs: /^(--check|--check-only|-c)$/ }),
  ...named('cargo', { start: /^(check|clippy|metadata|tree)( |$)/, refuses: /^--(fix|target-dir)/ }),
  ...named('go', { start: /^(vet|list|doc|env)( |$)/, refuses: /^--?(w|u|toolexec|exec|vettool|o)(=|$)/ }),
  ...named('gofmt', { needs: /^-[dl]$/, refuses: /^-w$/ }),
  ...named('gcc g++ cc c++ clang clang++', { needs: /^-fsyntax-only$/, refuses: /^(-o|-fplugin|-wrapper|-B)/ }),
  ...named('make', { needs: /^(-n|--dry-run|--just-print|--recon)$/ }),
  ...named('pip pip3', { start: /^(list|show|freeze|check|-V)( |$)/ }),
  ...named('npm', { start: /^(pkg get|config (get|list|ls)|root|prefix|query|explain|why)( |$)|^run(-script)?$/ }),
  ...named('pnpm', { start: /^(ls|list|root|why|config (get|list))( |$)/ }),
  ...named('env nproc arch locale lscpu groups tty', { start: /^$/ }),
  ...named('printenv tput getconf', { start: /^/ }),
  ...named('less more bat batcat zcat bzcat xzcat zstdcat zgrep zipinfo base64 base32', {}),
  ...named('nm objdump readelf size ldd addr2line c++filt envsubst factor', { start: /^/ }),
  ...named('tar', { start: /^(-?[zjJvaf]*t[zjJvaf]*|--list)( |$)/ }),
  ...named('unzip', { start: /^-[lvtZ]/ }),
  ...named('gzip xz bzip2 zstd', { start: /^-(l|t|dc|cd)( |$)/ }),
  ...named('yq', { refuses: /^(-i|--in-?place|-s|--split)/ }),
  ...named('openssl', { start: /^version( |$)/ }),
}

interface Check {
  readonly start?: RegExp
  readonly needs?: RegExp
  readonly refuses?: RegExp
}

/** Whether the command is a check that is known to work where nothing can be written. */
export function isCheck(program: string, words: readonly string[]): boolean {
  if (!Object.hasOwn(checks, program)) return false
  const { start, needs, refuses } = checks[program]!
  if (words.length === 0 && !start) return false
  if (start && !start.test(words.join(' '))) return false
  if (needs && !words.some((word) => needs.test(word))) return false
  return !refuses || !words.some((word) => refuses.test(word))
}

function named(names: string, check: Check): Record<string, Check> {
  return Object.fromEntries(names.split(' ').map((name) => [name, check]))
}
