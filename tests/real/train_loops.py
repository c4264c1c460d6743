"""Lightning, DDP and FSDP2 on the CPU, their steps recorded: python train_loops.py KIND OUT STEPS."""

from __future__ import annotations

import os
import sys
import time

import torch

kind, out, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
torch.set_num_threads(1)
torch.manual_seed(0)

if kind == "lightning":
    import lightning as L
    from lightning.pytorch.callbacks import ModelCheckpoint
    from lightning.pytorch.loggers import CSVLogger

    from breakeven.bench.recorders.lightning import StepRecorder

    class Tiny(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = torch.nn.Embedding(256, 32), torch.nn.Linear(32, 256)

        def training_step(self, batch, index):
            tokens = batch[0]
            logits = self.head(self.embed(tokens[:, :-1])).flatten(0, 1)
            loss = torch.nn.functional.cross_entropy(logits, tokens[:, 1:].flatten())
            self.log("train_loss", loss, on_step=True)
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), 1e-3)

    data = torch.utils.data.TensorDataset(torch.randint(0, 256, (400, 64)))
    recorder = StepRecorder(tokens=lambda batch: batch[0].numel(), samples=lambda batch: batch[0].shape[0])
    trainer = L.Trainer(
        max_steps=steps, accelerator="cpu", devices=1, logger=CSVLogger(out, name="csv"), log_every_n_steps=5,
        enable_progress_bar=False, default_root_dir=out, accumulate_grad_batches=2,
        callbacks=[ModelCheckpoint(dirpath=out, every_n_train_steps=10), recorder],
    )  # fmt: skip
    trainer.fit(Tiny(), torch.utils.data.DataLoader(data, batch_size=4))
else:
    import torch.distributed as dist

    from breakeven.bench.recorders.loop import record_steps

    dist.init_process_group("gloo")
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 64))
    if kind == "fsdp":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        fully_shard(net, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    else:
        net = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)

    def batches():
        for _ in range(steps):
            time.sleep(0.002 * (1 + dist.get_rank() * 4))  # the second process waits longer for its data
            yield torch.randn(8, 64)

    with record_steps(framework=f"torch {torch.__version__}", settings={"global_batch": 16}) as recorded:
        for batch in recorded.data(batches()):
            loss = net(batch).pow(2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            recorded.done(tokens=batch.numel(), samples=8, loss=float(loss))
            if recorded.should_stop:
                break
    if dist.get_rank() == 0:
        print("done", recorded.number, os.environ["WORLD_SIZE"])
    dist.destroy_process_group()
