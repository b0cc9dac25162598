import { candidate } from "./adoption_rig.ts";
import { backendConformance } from "./backend_conformance.ts";
import { FakeBackend, FakeWorld } from "./fake_backend.ts";
import { FakeDisk } from "./fake_disk.ts";

for (const style of ["by_itself", "half"] as const) {
  backendConformance(`fake, ${style}`, () => {
    const world = new FakeWorld();
    return Promise.resolve({
      backend: new FakeBackend(world, new FakeDisk(), style),
      candidate: (name) => Promise.resolve(candidate(name)),
      damage: (path) => {
        const there = world.generations.get(path);
        if (there !== undefined) there.whole = false;
        return Promise.resolve();
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  });
}
