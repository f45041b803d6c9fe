import { somewhere } from './changing-programs.ts'
import { curlHosts, wgetHosts } from './hosts.ts'
import { each, lookLikeFiles, type Program, plain, valuesOf } from './program.ts'

const always = (): boolean => true

/** Programs that use the network. */
export const networkPrograms: Readonly<Record<string, Program>> = {
  curl: {
    version: '--version',
    opens: sentFiles,
    writes: curlOutput,
    sends: always,
    hosts: curlHosts,
    startsNothing: true,
  },
  wget: { opens: sentFiles, writes: somewhere, sends: always, hosts: wgetHosts, startsNothing: true },
  ...each('ping ping6 nslookup dig host whois', { sends: always, startsNothing: true }),
  ...each('rsync scp', { writes: (words) => plain(words).slice(-1), sends: always }),
  ...each('nc netcat', { sends: always, forgets: true }),
  ...each(
    `ssh sftp ncat socat telnet ftp tftp traceroute tracepath mtr drill resolvectl getent nmap openssl gh
    apt apt-get yum dnf apk brew pacman snap aws gcloud az helm mail sendmail`,
    { sends: always },
  ),
  kubectl: { sends: always, forgets: /^(exec|run)$/ },
  docker: {
    version: '--version -v',
    sends: verb(/^(pull|push|run|build|login|search|compose|buildx)$/),
    forgets: /^(exec|run)$/,
  },
  podman: { forgets: /^(exec|run)$/ },
}

/** Whether the first word that is no flag is like this. */
export function verb(pattern: RegExp): (words: readonly string[]) => boolean {
  return (words) => pattern.test(words.find((word) => !word.startsWith('-')) ?? '')
}

/** `-d@file`, `--data=@file`, `-T/file`: the file to send follows the flag directly. */
function sentFiles(words: readonly string[]): string[] {
  const attached = words.flatMap((word) => /(?:@|^--?[\w-]*=?)([~/.][^\s]*)$/.exec(word)?.[1] ?? [])
  return lookLikeFiles([...attached, ...words])
}

function curlOutput(words: readonly string[]): string[] | undefined {
  const isSaved = words.some((word) => /^(-[a-zA-Z]*[oOJ]|--(output|remote))/.test(word))
  return isSaved ? valuesOf(/^(-o|--output)$/, words) : undefined
}
