#include "TowerFloorComponent.h"

#include "Components/InstancedStaticMeshComponent.h"
#include "FloorLayout.h"
#include "Modules/ModuleManager.h"

IMPLEMENT_MODULE(FDefaultModuleImpl, TowerFloors)

namespace
{
// Of a cell. X of a floor grows to the east and y to the south; in Unreal those are the axes Y and -X.
FVector Place(const Floors::Cell& Cell, float CellSize, float Height)
{
    return FVector(-static_cast<float>(Cell.Y), static_cast<float>(Cell.X), Height) * CellSize;
}

// An instance in each of the cells, in one call.
void Draw(
    TObjectPtr<UInstancedStaticMeshComponent>& Instances,
    USceneComponent& Parent,
    UStaticMesh* Mesh,
    const std::vector<Floors::Cell>& Cells,
    float CellSize,
    float Height)
{
    if (!Instances)
    {
        Instances = NewObject<UInstancedStaticMeshComponent>(Parent.GetOwner());
        Instances->SetupAttachment(&Parent);
        Instances->RegisterComponent();
    }
    Instances->ClearInstances();
    Instances->SetStaticMesh(Mesh);
    TArray<FTransform> Transforms;
    Transforms.Reserve(static_cast<int32>(Cells.size()));
    for (const Floors::Cell& Cell : Cells)
    {
        Transforms.Emplace(FQuat::Identity, Place(Cell, CellSize, Height), FVector(CellSize / 100.f));
    }
    Instances->AddInstances(Transforms, /* bShouldReturnIndices */ false);
}
} // namespace

void UTowerFloorComponent::BeginPlay()
{
    Super::BeginPlay();
    Generate();
}

bool UTowerFloorComponent::Generate()
{
    std::string Reason;
    const Floors::FloorPtr Floor = Floors::Generate(static_cast<uint64>(Seed), static_cast<uint32>(Number), Reason);
    if (!Floor)
    {
        UE_LOG(LogTemp, Error, TEXT("no floor %d of tower %lld: %s"), Number, Seed, UTF8_TO_TCHAR(Reason.c_str()));
        return false;
    }
    const floor_gen_names* Names = floor_gen_floor_names(Floor.get());
    Name = UTF8_TO_TCHAR(Names->name.text);
    Hook = UTF8_TO_TCHAR(Names->hook.text);
    const Floors::Layout Layout = Floors::LayOut(*Floor);
    Draw(Ground, *this, GroundMesh, Layout.Ground, CellSize, -1.f);
    Draw(Walls, *this, WallMesh, Layout.Walls, CellSize, 0.f);
    Entry = GetComponentTransform().TransformPosition(Place({Floor->entry.x, Floor->entry.y}, CellSize, 0.f));
    return true;
}
