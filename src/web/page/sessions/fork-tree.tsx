/** Comes with the route. */
export function ForkTree({ id }: { readonly id: string }) {
  return <p class="facts">{id}</p>
}
